/**
 * Scores of the search of the site. Sphinx puts this file before its own code, whose scores the other members repeat.
 *
 * Records of decisions and earlier versions come after all other pages. A guide comes before a page of another part
 * that matches as well, and after one with the words in its title.
 */

var Scorer = { // Sphinx looks for a global variable
  score: ([page, , , , score]) => {
    if (/^(explanation\/decisions\/|changelog$|explanation\/performance-history$)/.test(page)) return score - 1000;
    return /^(how-to|tutorials)\/(?!index$)/.test(page) ? score + 4 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
