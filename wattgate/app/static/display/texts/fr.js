/** The texts of the home display in French. Spaces before `:` and units are not to break a line. */

import login from "../../shared/login-texts/fr.js";

/** @import { Catalogue } from "../texts.js" */

export default /** @type {Catalogue} */ ({
  ...login,

  "page.title": "Écran du logement · wattgate",
  "page.home": "Logement",
  "page.logOut": "Se déconnecter",
  "page.localTime": "Heure locale du logement\u00a0:",
  "page.sessionEnded": "Votre session est terminée. Veuillez vous reconnecter.",

  "status.connecting": "Connexion",
  "status.reconnecting": "Reconnexion",
  "status.offline": "Pas de réseau",
  "status.displaced": "Trop d’écrans, en attente",
  "status.outdated": "Mise à jour de la page",
  "status.withheld": "Pas de consentement",
  "status.LIVE": "En direct",
  "status.DELAYED": "En retard",
  "status.STALE": "Pas à jour",
  "status.OFFLINE": "Aucun relevé",
  "status.newest": "Dernier relevé il y a {age}",
  "status.unread": { one: "non lue", other: "non lues" },

  "noHomes.title": "Aucun logement",
  "noHomes.ask":
    "Ce compte n’a aucun logement avec un compteur. Demandez au fournisseur de votre application d’y ajouter votre " +
    "logement, ou déconnectez-vous et utilisez un autre compte.",
  "noHomes.operator": "Si vous exploitez cette passerelle, cette commande montre comment créer un logement\u00a0:",
  "noHomes.retry": "Cette page cherche un logement toutes les minutes.",

  "power.title": "Puissance actuelle",
  "power.waiting": "En attente d’un relevé",
  "power.importing": "Soutirage",
  "power.exporting": "Injection",
  "power.none": "Pas de puissance en direct",
  "power.noneBecause": "Pas de puissance en direct. {reason}",
  "power.hourly": "{amount} par heure",
  "power.lastReading": "Dernier relevé à {time}, il y a {age}. {reason}",
  "power.noReading": "Aucun relevé n’est encore arrivé.",
  "power.notSent": "Le compteur de ce logement n’envoie pas sa puissance.",
  "power.old": "Ce relevé date de {age}.",
  "power.oldBecause": "Ce relevé date de {age}. {reason}",
  "power.announced": "{direction}\u00a0: {power}",
  "power.announcedWithLevel": "{direction}\u00a0: {power}, {level}",

  "level.LOW": "faible",
  "level.MEDIUM": "moyen",
  "level.HIGH": "élevé",
  "level.LEARNED": "Par rapport à votre usage habituel\u00a0: faible sous {low}, élevé dès {high}",
  "level.BUDGET": "Par rapport à votre budget\u00a0: faible sous {low}, élevé dès {high}",
  "level.PRICE": "Selon le prix actuel de l’électricité\u00a0: faible sous {low}, élevé dès {high}",

  "cause.METER": "Le compteur n’envoie plus rien.",
  "cause.GATEWAY": "L’appareil qui transmet les relevés n’envoie plus rien.",
  "cause.PLATFORM": "Le service d’énergie n’accepte pas de relevés en ce moment.",
  "cause.UNKNOWN": "Aucun relevé plus récent n’est arrivé.",
  "cause.CONNECTION": "Cet écran a perdu sa connexion.",

  "period.today": "Aujourd’hui",
  "period.month": "Ce mois-ci",
  "period.completeTo": "Complet jusqu’à\u00a0: {time}",

  "energy.electricity": "électricité",
  "energy.gas": "gaz",
  "energy.exported": "injection",
  "energy.standing": "abonnement",

  "cost.chargeAndVat": "abonnement et TVA compris",
  "cost.chargeOfAndVat": "dont {amount} d’abonnement, TVA comprise",
  "cost.charge": "abonnement compris, sans TVA",
  "cost.chargeOf": "dont {amount} d’abonnement, sans TVA",
  "cost.vat": "TVA comprise, sans abonnement",
  "cost.bare": "sans abonnement ni TVA",
  "cost.unpriced": "en partie sans prix",
  "cost.estimated": "en partie estimé",
  "cost.NO_READINGS": "Aucun relevé",
  "cost.NO_POWER": "Aucune puissance",
  "cost.NO_TARIFF": "Aucun tarif",
  "cost.NO_PRICE": "Aucun prix",

  "tariff.title": "Prix actuel",
  "tariff.per": "par {unit}",
  "tariff.perUntil": "par {unit} jusqu’à {time}",
  "tariff.standing": "{name} · {amount} d’abonnement par jour",
  "tariff.dearer": "{rate} dès {time}, plus cher",
  "tariff.cheaper": "{rate} dès {time}, moins cher",

  "history.title": "Historique",
  "history.range": "Période",
  "history.measure": "Grandeur",
  "history.legend": "Légende",
  "history.failed": "L’historique ne peut pas être lu. Nouvel essai dans un instant.",
  "history.costs": "Coûts\u00a0: {basis}",
  "history.bar": "{name}\u00a0: {details}",

  "view.hours": "heures",
  "view.days": "jours",
  "view.weeks": "semaines",
  "view.months": "mois",
  "view.hoursName": "24 heures",
  "view.daysName": "8 jours",
  "view.weeksName": "5 semaines",
  "view.monthsName": "13 mois",
  "view.hoursTitle": "Dernières 24 heures",
  "view.daysTitle": "8 derniers jours",
  "view.weeksTitle": "5 dernières semaines",
  "view.monthsTitle": "13 derniers mois",
  "view.hoursMean": "{amount} par heure en moyenne",
  "view.daysMean": "{amount} par jour en moyenne",
  "view.weeksMean": "{amount} par semaine en moyenne",
  "view.monthsMean": "{amount} par mois en moyenne",
  "view.currentDay": "Auj.",
  "view.currentWeek": "Sem. en cours",

  "measure.cost": "Coût",
  "measure.electricity": "Électricité",
  "measure.electricityStart": "Élec",
  "measure.electricityEnd": "tricité",
  "measure.gas": "Gaz",
  "measure.exported": "Injection",
  "measure.exportedStart": "Inject",
  "measure.exportedEnd": "ion",

  "mark.running": "jusqu’ici",
  "mark.late": "relevés pas tous reçus",
  "mark.estimated": "en partie estimé",
  "mark.gaps": "relevés manquants",
  "mark.missing": "aucun relevé",
  "mark.unpriced": "en partie sans prix",
  "mark.noTariff": "aucun tarif",
  "mark.noPrice": "aucun prix",

  "withheld.all":
    "Les données de ce logement ne sont pas montrées, faute de consentement valide. Renouvelez le consentement dans " +
    "votre application.",
  "withheld.REVOKED":
    "Compteur non montré\u00a0: {meter}. Le consentement a été révoqué. Renouvelez-le dans votre application.",
  "withheld.EXPIRED":
    "Compteur non montré\u00a0: {meter}. Le consentement a expiré. Renouvelez-le dans votre application.",
  "withheld.MISSING":
    "Compteur non montré\u00a0: {meter}. Aucun consentement n’est enregistré. Demandez au fournisseur de votre " +
    "application de l’enregistrer.",
  "withheld.ELECTRICITY": "électricité",
  "withheld.EXPORTED": "électricité injectée",
  "withheld.GAS": "gaz",
  "withheld.meterPoint": "{kind} (point de livraison {mpxn})",

  "age.seconds": "{count}\u00a0s",
  "age.minutes": "{count}\u00a0min",
  "age.hours": { one: "{count}\u00a0heure", other: "{count}\u00a0heures" },
  "age.days": { one: "{count}\u00a0jour", other: "{count}\u00a0jours" },

  "time.dayAndTime": "{day}, {time}",
  "time.endOf": "fin du {day}",
  "time.hourRange": "{start} à {end}",
  "time.dayRange": "du {start} au {end}",

  "money.pence": "{amount}\u00a0p",
  "money.cents": "{amount}\u00a0ct",

  "kiosk.fullScreen": "Plein écran",
  "kiosk.leaveFullScreen": "Quitter le plein écran",
  "kiosk.close": "Fermer",
  "kiosk.badValue":
    "L’adresse de cette page a «\u00a0{value}\u00a0» pour {name}, valeur inconnue. Valeurs possibles\u00a0: {allowed}.",
  "kiosk.badHome": "L’adresse de cette page nomme le logement «\u00a0{value}\u00a0», que ce compte n’a pas.",
});
