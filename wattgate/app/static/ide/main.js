/** Entry point of the IDE: creates its parts and connects them. */

import { find } from "../shared/dom.js";
import { mountActions } from "./actions.js";
import { DocumentPane } from "./document-pane.js";
import { Documents, STORAGE_KEY } from "./documents.js";
import { createHistoryPanel } from "./history-panel.js";
import { IdeSession } from "./ide-session.js";
import { InputsPane } from "./inputs-pane.js";
import { setUpPanes, setUpSplitters, setUpTabs, showPane } from "./layout.js";
import { readLink } from "../shared/ide-link.js";
import { showNotice } from "./notice.js";
import { PanelHost } from "./panel-host.js";
import { ACTIONS, PANELS, mountLogin, subscribe } from "./panels/index.js";
import { ResponsePane } from "./response-pane.js";
import { Runner } from "./runner.js";
import { setUpSchemaNote } from "./schema-note.js";
import { setUpSessionBar } from "./session-bar.js";
import { setUpDocumentTabs } from "./tabs.js";
import { Workspace } from "./workspace.js";

const session = new IdeSession();
const facts = { ...JSON.parse(document.body.dataset.facts ?? "{}"), applicationId: session.applicationId };
const documents = new Documents(localStorage, sessionStorage);
const workspace = new Workspace(facts, session, documents);
const runner = new Runner(workspace, subscribe);
const documentPane = new DocumentPane(workspace, runner);
const inputsPane = new InputsPane(workspace);
new ResponsePane(workspace);

workspace.attach(
  {
    replaceText: (text) => documentPane.editor.replaceAll(text),
    insertText: (text) => documentPane.editor.insert(text),
    showDocument: (shown) => {
      documentPane.show(shown);
      inputsPane.show(shown);
    },
    focusEditor: () => {
      showPane("editor");
      documentPane.editor.focus();
    },
    goTo: (offset) => {
      showPane("editor");
      documentPane.editor.goTo(offset);
    },
    showPanel: (id, detail) => {
      showPane("panel");
      panels.show(id, detail);
    },
    notify: showNotice,
  },
  runner,
);

setUpSplitters();
setUpPanes();
setUpTabs(find(document, ".input-tabs"));
setUpDocumentTabs(workspace);
setUpSessionBar(workspace);
setUpSchemaNote(workspace);
mountActions(workspace, ACTIONS);
const panels = new PanelHost(workspace, [...PANELS, createHistoryPanel(workspace)]);
mountLogin(session.extras, workspace);

const openLink = () => {
  const linked = readLink(location.hash);
  if (!linked) return;
  workspace.openDocument(linked);
  // The document is in a tab now: a reload must not open it again, after it was changed.
  history.replaceState(null, "", location.pathname + location.search);
};
addEventListener("hashchange", openLink);
addEventListener("storage", ({ key }) => {
  if (key === STORAGE_KEY) documents.merge();
});
// A page that the browser has kept for the button Back gets no events of the storage.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) documents.merge();
});
addEventListener("pagehide", () => documents.store());
openLink();
documentPane.show(workspace.document);
inputsPane.show(workspace.document);
void workspace.loadSchema();
