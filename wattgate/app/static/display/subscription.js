/** What the display subscribes to: everything that is drawn but the history. */

export const SUBSCRIPTION = `subscription Display($veId: ID!) {
  display(virtualEntityId: $veId) {
    at
    timeZone
    unreadAlerts
    power { net unit at }
    today { ...Period }
    month { ...Period }
    ambient { level basis lowBelow highFrom unit }
    tariff { name rate unit standingCharge until next { start rate } }
    freshness { state asOf expectedEverySeconds cause }
  }
}
fragment Period on DisplayPeriod {
  end
  completeTo
  electricity { value unit }
  gas { value unit }
  exported { value unit }
  cost { total standingCharge currency estimated }
}`;
