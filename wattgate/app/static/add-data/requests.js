/** The requests of the page that adds data: it sends a file to be inspected, previewed and imported. */

import { GatewayError, toRestError } from "../shared/gateway.js";

/** @typedef {{ name: string, value: string }} Setting */

/**
 * A reading of the file as an answer reads it. Times are local unless they have an offset.
 * @typedef {{ line: number, text: string, start: string, end: string | null, value: number, unit: string | null
 *   }} Example
 */

/** @typedef {{ settings: Setting[], example: Example | null }} Answer */
/** @typedef {{ option: string, text: string, answers: Answer[] }} Question */
/** @typedef {{ line: number, reason: string }} RefusedLine */

/**
 * @typedef {object} Inspection
 * @property {string} encoding
 * @property {string[]} lines
 * @property {string[][]} rows
 * @property {string | null} profile
 * @property {string | null} title
 * @property {Question[]} questions
 * @property {string[]} warnings
 */

/** @typedef {{ month: string, readings: number, total: number }} Month */

/**
 * @typedef {object} Series
 * @property {string} classifier
 * @property {string} unit
 * @property {number} readings
 * @property {string} first
 * @property {string} last
 * @property {number} total
 * @property {Month[]} months
 * @property {number} missing
 */

/**
 * @typedef {object} Report
 * @property {boolean} stored
 * @property {boolean} isKnown
 * @property {number} recorded
 * @property {number} added
 * @property {number} replaced
 * @property {number} unchanged
 * @property {number} repeated
 * @property {number} refused
 * @property {RefusedLine[]} refusedLines
 * @property {Series[]} series
 */

/**
 * A file, the home that it is for, and the answers so far.
 * @typedef {{ file: File, homeId: string, settings: Setting[] }} Upload
 */

/**
 * How a file is sent: the address of the REST interface, a token, listeners of the part that is sent and of the part of
 * the work that is done (0 to 1), and a signal that ends it.
 * @typedef {{ api: string, token: string, onProgress: (part: number) => void, onWork: (part: number) => void,
 *   signal: AbortSignal }} Transfer
 */

/**
 * Return the form of a file and its open questions.
 * @param {Upload} upload
 * @param {Transfer} transfer
 * @returns {Promise<Inspection>}
 */
export function inspect(upload, transfer) {
  return send("inspect", upload, transfer);
}

/**
 * Return what an import would store.
 * @param {Upload} upload
 * @param {Transfer} transfer
 * @returns {Promise<Report>}
 */
export function preview(upload, transfer) {
  return send("preview", upload, transfer);
}

/**
 * Import a file.
 * @param {Upload} upload
 * @param {Transfer} transfer
 * @returns {Promise<Report>}
 */
export function store(upload, transfer) {
  return send("import", upload, transfer);
}

const NDJSON = "application/x-ndjson";

/**
 * Send a file as the body of a request. Only XMLHttpRequest reports the part that is sent. The answer is lines: the
 * progress of the work, and at last the result.
 * @param {string} action
 * @param {Upload} upload
 * @param {Transfer} transfer
 * @returns {Promise<any>}
 */
function send(action, { file, homeId, settings }, { api, token, onProgress, onWork, signal }) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `${api}/reading-files/${action}?${toQuery(homeId, settings)}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("Accept", NDJSON);
    request.setRequestHeader("token", token);
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total ? loaded / total : 1));
    request.addEventListener("progress", () => {
      const { progress } = readAnswer(request);
      if (progress !== undefined) onWork(progress);
    });
    request.addEventListener("load", () => {
      const { status, body } = readAnswer(request);
      if (status === 200) resolve(body);
      else reject(toError(status, body));
    });
    request.addEventListener("error", () => reject(new GatewayError("The upload has failed", "UNREACHABLE")));
    request.addEventListener("abort", () => reject(new GatewayError("The upload was cancelled", "CANCELLED")));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

/**
 * Return the parameters of an upload. Several values of one option are separated by vertical bars.
 * @param {string} homeId
 * @param {Setting[]} settings
 */
export function toQuery(homeId, settings) {
  const parameters = new URLSearchParams({ homeId });
  for (const { name, value } of settings) {
    const key = name === "columns" ? "column" : name;
    const known = parameters.get(key);
    parameters.set(key, known === null || key !== "column" ? value : `${known}|${value}`);
  }
  return parameters;
}

/**
 * Return the last whole line of an answer in lines: the progress, or the status with the result or the error. An answer
 * of another type is an error before the work, or that of a proxy.
 * @param {Pick<XMLHttpRequest, "status" | "responseText" | "getResponseHeader">} request
 * @returns {{ progress?: number, status?: number, body?: any }}
 */
export function readAnswer(request) {
  if (!request.getResponseHeader("Content-Type")?.startsWith(NDJSON)) {
    return { status: request.status, body: parseJson(request.responseText) };
  }
  const line = parseJson(request.responseText.split("\n").at(-2) ?? "");
  return { progress: line?.progress, status: line?.status, body: line?.result ?? line?.error };
}

/** @param {string} line */
function parseJson(line) {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

/**
 * @param {number | undefined} status
 * @param {any} body
 */
function toError(status, body) {
  if (status === undefined) return new GatewayError("The answer has ended too early", "UNREACHABLE");
  return toRestError(status, body);
}
