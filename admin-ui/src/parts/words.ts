// Findings of the card guard as sentences. The words are the server's; here they are put beside their place.

import type { FieldProblem } from '../api/client'

/** One finding as a sentence: where, and what is the matter. */
export function flagWords(flag: FieldProblem): string {
  const where = flag.path.replace(/^spec\.card\.?/, '').replace(/\.(\d+)/g, (_, at: string) => ` ${Number(at) + 1}`).replaceAll('.', ' › ') || 'the card'
  return `“${where}” ${flag.problem.replace(/^is flagged: /, '')}`
}
