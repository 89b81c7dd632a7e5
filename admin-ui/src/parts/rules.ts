// Rules of policies, as far as the form knows them.

import type { Detector } from '../api/shapes'

export const KINDS = ['secret', 'pii', 'injection', 'words', 'pattern', 'url', 'file', 'size', 'schema', 'external']
export const ACTIONS = ['block', 'redact', 'mask', 'tokenise', 'monitor', 'allow']
const NO_SPAN = new Set(['injection', 'file', 'size', 'schema'])

/** Up to this many rules all are open from the start; of more, each is opened by itself. */
export const OPEN_AT_ONCE = 6

/** More phrases than this are edited as lines of text. */
export const MANY_WORDS = 40

/** What can be done about a finding of a detector: one without a place in the text can't be replaced there. */
export function actionsOf(id: string, all: string[]): string[] {
  return all.filter((action) => !NO_SPAN.has(id) || !['redact', 'mask', 'tokenise'].includes(action))
}

/** What a rule is found by. */
export function ruleText(rule: Detector): string {
  return [rule.name, rule.id, rule.action, rule.pattern, ...(Array.isArray(rule.words) ? rule.words : [])].filter((one) => typeof one === 'string').join('\n').toLowerCase()
}

/** Places without one of them: those behind it move up. */
export function without(places: Set<number>, gone: number): Set<number> {
  return new Set([...places].flatMap((at) => (at === gone ? [] : [at > gone ? at - 1 : at])))
}
