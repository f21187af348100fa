/** The texts of the log-in form in French. */

/** @import { LoginTexts } from "../login-texts.js" */

export default /** @type {LoginTexts} */ ({
  "login.welcome": "Connectez-vous pour voir la consommation d’énergie de votre logement.",
  "login.username": "Nom d’utilisateur",
  "login.password": "Mot de passe",
  "login.code": "Code",
  "login.submit": "Se connecter",
  "login.forgot": "Mot de passe oublié\u00a0?",
  "login.register": "S’inscrire",
  "login.verify": "Confirmer une inscription",
  "login.otherApplication": "Se connecter à une autre application",
  "login.applicationId": "Identifiant de l’application",
  "login.continue": "Continuer",
  "login.usernameMissing": "Saisissez votre nom d’utilisateur.",
  "login.passwordMissing": "Saisissez votre mot de passe.",
  "login.codeMissing": "Saisissez le code de votre application, ou un code de secours.",
  "login.codeWrong": "Le code est faux, a expiré ou a déjà servi. Saisissez le code actuel.",
  "login.wrong": "Le nom d’utilisateur ou le mot de passe est faux.",
  "login.unreachable": "La passerelle est injoignable. Vérifiez la connexion et réessayez.",
  "login.tooMany": "Trop de tentatives de connexion. Réessayez dans {wait}.",
  "login.unavailable": "La passerelle ne peut pas vous connecter en ce moment. Réessayez dans {wait}.",
  "login.failed": "La connexion a échoué\u00a0: {message}.",
  "login.seconds": { one: "{count}\u00a0seconde", other: "{count}\u00a0secondes" },
  "login.minutes": { one: "{count}\u00a0minute", other: "{count}\u00a0minutes" },
});
