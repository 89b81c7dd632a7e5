// What grants say, and whom they reach: words and sets without markup.

import type { Card, Grant, Principal } from '../api/shapes'

export const OPERATIONS = ['send', 'stream', 'get', 'list', 'cancel', 'subscribe', 'push_create', 'push_get', 'push_list', 'push_delete', 'extended_card'] as const

/** What a caller needs to talk to an agent and to follow its own tasks. */
export const TALK = ['send', 'stream', 'get', 'list', 'cancel', 'subscribe', 'extended_card']

/** Whether a grant selects a card: by its name, by one of its tags, or as any. */
export function selects(grant: Grant, card: { name: string; spec: { [more: string]: unknown } }): boolean {
  const tags = Array.isArray(card.spec['tags']) ? card.spec['tags'].map(String) : []
  return (grant.spec.cards ?? []).some((one) => one === '*' || one === card.name || (one.startsWith('tag:') && tags.includes(one.slice(4))))
}

/** Everything that `cards` of a grant can be: all, tags that are there, names. */
export function selectors(cards: Card[]): string[] {
  const tags = new Set(cards.flatMap((card) => (Array.isArray(card.spec['tags']) ? card.spec['tags'].map(String) : [])))
  return ['*', ...[...tags].sort().map((tag) => `tag:${tag}`), ...cards.map((card) => card.name)]
}

/** Whom a grant is for. */
export function granteeOf(grant: Grant): { kind: 'principal' | 'group'; name: string } {
  return grant.spec.group ? { kind: 'group', name: grant.spec.group } : { kind: 'principal', name: grant.spec.principal ?? '' }
}

/** A group, as principals and grants make it: there is nothing else of it. */
export interface Group {
  name: string
  members: string[]
  grants: string[]
}

/** Every group that a principal is in or a grant is for, by name. */
export function groupsOf(principals: Principal[], grants: Grant[]): Group[] {
  const all = new Map<string, Group>()
  const at = (name: string): Group => {
    const there = all.get(name) ?? { name, members: [], grants: [] }
    all.set(name, there)
    return there
  }
  for (const principal of principals) for (const name of principal.spec.groups ?? []) at(name).members.push(principal.name)
  for (const grant of grants) if (grant.spec.group) at(grant.spec.group).grants.push(grant.name)
  return [...all.values()].sort((a, b) => a.name.localeCompare(b.name))
}

/** The grants of a principal: its own, and those of its groups. */
export function grantsOf(grants: Grant[], principal: { name: string; spec: { groups?: string[] } }): Grant[] {
  return grants.filter((grant) => grant.spec.principal === principal.name || (grant.spec.group !== undefined && (principal.spec.groups ?? []).includes(grant.spec.group)))
}

/** A name for a new grant that is legal and not taken. */
export function grantName(who: string, taken: string[]): string {
  const base = who.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 55) || 'grant'
  for (let at = 1; ; at++) {
    const name = at === 1 ? base : `${base}-${at}`
    if (!taken.includes(name)) return name
  }
}
