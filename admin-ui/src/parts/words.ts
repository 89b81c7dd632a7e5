// Findings of the card guard in plain words.

import type { FieldProblem } from '../api/client'

const RULES: [RegExp, string][] = [
  [/instruction|injection|directive|override/i, 'tells the model that reads it what to do'],
  [/hidden|invisible|zero.?width|bidi|control/i, 'holds characters that are not shown, or turn the text around'],
  [/encoded|base64|disguise/i, 'holds text in a disguise'],
  [/confusable|homoglyph|lookalike|mixed/i, 'uses letters that look like others'],
  [/url|link|host/i, 'leads somewhere unusual'],
  [/long|size/i, 'is unusually long'],
  [/secret|credential|key/i, 'asks for or holds a secret'],
]

/** One finding as a sentence: where, and what is the matter. */
export function flagWords(flag: FieldProblem): string {
  const where = flag.path.replace(/^spec\.card\.?/, '').replace(/\.(\d+)/g, (_, at: string) => ` ${Number(at) + 1}`).replaceAll('.', ' › ') || 'the card'
  const rule = flag.problem.replace(/^is flagged: /, '')
  const words = RULES.find(([pattern]) => pattern.test(rule))?.[1]
  return words ? `“${where}” ${words} (${rule})` : `“${where}”: ${rule}`
}
