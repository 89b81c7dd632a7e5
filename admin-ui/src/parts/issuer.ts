// An issuer's document and its form, and whom issuers take a principal for.

import type { Issuer, IssuerSpec } from '../api/shapes'

export interface Pair {
  subject: string
  principal: string
}

export function pairsOf(spec: IssuerSpec): Pair[] {
  return Object.entries(spec.principals ?? {}).map(([subject, principal]) => ({ subject, principal }))
}

/** The document of a form: empty fields say nothing. */
export function specOf(draft: IssuerSpec, pairs: Pair[]): IssuerSpec {
  const listed = Object.fromEntries(pairs.filter((pair) => pair.subject !== '').map((pair) => [pair.subject, pair.principal]))
  const all = { ...draft, principals: listed }
  const says = ([, value]: [string, unknown]) => value !== undefined && value !== null && value !== '' && !(typeof value === 'object' && Object.keys(value as object).length === 0)
  return Object.fromEntries(Object.entries(all).filter(says)) as IssuerSpec
}

export interface Proof {
  issuer: string
  kind: 'oidc' | 'certificate'
  subject: string
  /** Whether the issuer vouches at present. */
  active: boolean
  /** Whether it is listed, or is who it is by its name alone. */
  listed: boolean
}

/** Every subject of an issuer that is this principal. */
export function proofsOf(issuers: Issuer[], principal: string): Proof[] {
  return issuers.flatMap((issuer) => {
    const kind = issuer.spec.kind ?? 'oidc'
    const active = (issuer.spec.state ?? 'active') === 'active'
    const listed = pairsOf(issuer.spec).filter((pair) => pair.principal === principal).map((pair) => ({ issuer: issuer.name, kind, subject: pair.subject, active, listed: true }))
    const byName = kind === 'oidc' && issuer.spec.unlisted === 'by_name' && issuer.spec.principals?.[principal] === undefined
    return [...listed, ...(byName ? [{ issuer: issuer.name, kind, subject: principal, active, listed: false }] : [])]
  })
}
