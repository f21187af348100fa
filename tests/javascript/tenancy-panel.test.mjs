/** The times at a meter point in words. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { WallClock } from "../../wattgate/app/static/display/format.js";
import { periodText } from "../../wattgate/app/static/display/tenancy-panel.js";

const wallClock = new WallClock("Europe/Paris");
const [beganAt, endedAt] = ["2025-12-31T23:00:00.000Z", "2026-06-30T22:30:00.000Z"];

test("a tenancy has its start and its end in the zone of the home, if it has them", () => {
  const known = [
    [{ beganAt: null, endedAt: null }, /^You live here\. Nobody/],
    [{ beganAt, endedAt: null }, /^You live here since .*2026.*00:00\.$/],
    [{ beganAt: null, endedAt }, /^You lived here until .*July.*2026.*00:30\.$/],
    [{ beganAt, endedAt }, /^You lived here from .*January.* to .*July.*00:30\.$/],
  ];
  for (const [tenancy, words] of known) assert.match(periodText(tenancy, wallClock), words);
});
