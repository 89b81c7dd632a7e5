// Calls that one call caused, as a tree: who called whom on whose behalf.

import type { Record_ } from '../api/shapes'

export interface Branch {
  record: Record_
  children: Branch[]
}

/** The trees of these records. A record whose cause is not among them begins one of its own; each record is in one place. */
export function trees(records: Record_[]): Branch[] {
  const branches = new Map<string, Branch>()
  for (const record of records) if (!branches.has(record.correlation_id)) branches.set(record.correlation_id, { record, children: [] })
  const roots: Branch[] = []
  for (const branch of branches.values()) {
    const parent = branches.get(branch.record.delegation?.parent ?? '')
    if (parent && parent !== branch && !under(branch, parent)) parent.children.push(branch)
    else roots.push(branch)
  }
  return roots
}

/** Whether `wanted` is `branch` or below it: ids are told by callers, and could go round. */
function under(branch: Branch, wanted: Branch): boolean {
  return branch === wanted || branch.children.some((child) => under(child, wanted))
}

/** Every branch with how deep it lies, in the order of a reader. */
export function flat(branches: Branch[], depth = 0): { record: Record_; depth: number }[] {
  return branches.flatMap((branch) => [{ record: branch.record, depth }, ...flat(branch.children, depth + 1)])
}
