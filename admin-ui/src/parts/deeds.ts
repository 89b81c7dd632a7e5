// What administrators do and to what kinds of things, in words; and where a thing is looked at.

import { s } from '../strings'

/** Kinds of things in the trail of changes. */
export const KINDS: Record<string, string> = s.changeKinds
/** What is done to them. */
export const ACTIONS: Record<string, string> = s.changeActions

const VIEWS: Record<string, string> = { card: 'agents', policy: 'policies', principal: 'principals', grant: 'grants', issuer: 'issuers' }

/** The view of a thing, if there is one of its own. */
export function placeOfThing(change: { kind: string; name: string; tenant?: string | null | undefined }): string | undefined {
  if (change.kind === 'admin') return '/admins'
  if (change.kind === 'tenant') return '/tenants'
  if (!change.tenant || change.name === '') return undefined
  if (change.kind === 'conditions') return `/t/${change.tenant}/conditions`
  if (change.kind === 'signing_key') return `/t/${change.tenant}/signing-keys`
  const view = VIEWS[change.kind]
  return view && `/t/${change.tenant}/${view}/${encodeURIComponent(change.name)}`
}
