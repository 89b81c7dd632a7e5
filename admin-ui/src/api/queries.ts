// What views read, by name: one key a thing, so that a change of it is seen everywhere.

import { queryOptions, useQuery, type QueryClient } from '@tanstack/react-query'
import { api, ok } from './client'
import type { Card, Grant, Issuer, Key, Policy, Principal, SigningKey, Tenant } from './shapes'

type Page<T> = { items: T[]; next_cursor?: string | null }

/** Most items that a list is read to; beyond that one searches. */
const MOST = 5000

/** Every page of a list. */
export async function every<T>(page: (cursor: string | undefined) => Promise<Page<unknown>>): Promise<T[]> {
  const items: T[] = []
  let cursor: string | undefined
  do {
    const { items: more, next_cursor } = await page(cursor)
    items.push(...(more as T[]))
    cursor = next_cursor ?? undefined
  } while (cursor !== undefined && items.length < MOST)
  return items
}

const query = (cursor: string | undefined) => ({ limit: 200, ...(cursor === undefined ? {} : { cursor }) })

export const queries = {
  tenants: () => queryOptions({
    queryKey: ['tenants'],
    queryFn: () => every<Tenant>((cursor) => ok(api.GET('/api/v1/tenants', { params: { query: query(cursor) } }))),
  }),
  cards: (tenant: string) => queryOptions({
    queryKey: ['cards', tenant],
    queryFn: () => every<Card>((cursor) => ok(api.GET('/api/v1/tenants/{tenant}/cards', { params: { path: { tenant }, query: query(cursor) } }))),
  }),
  card: (tenant: string, name: string) => queryOptions({
    queryKey: ['cards', tenant, name],
    queryFn: async () => (await ok(api.GET('/api/v1/tenants/{tenant}/cards/{name}', { params: { path: { tenant, name } } }))) as unknown as Card,
  }),
  principals: (tenant: string) => queryOptions({
    queryKey: ['principals', tenant],
    queryFn: () => every<Principal>((cursor) => ok(api.GET('/api/v1/tenants/{tenant}/principals', { params: { path: { tenant }, query: query(cursor) } }))),
  }),
  keys: (tenant: string) => queryOptions({
    queryKey: ['keys', tenant],
    queryFn: () => every<Key>((cursor) => ok(api.GET('/api/v1/tenants/{tenant}/keys', { params: { path: { tenant }, query: query(cursor) } }))),
  }),
  principal: (tenant: string, name: string) => queryOptions({
    queryKey: ['principals', tenant, name],
    queryFn: async () => (await ok(api.GET('/api/v1/tenants/{tenant}/principals/{name}', { params: { path: { tenant, name } } }))) as unknown as Principal,
  }),
  grant: (tenant: string, name: string) => queryOptions({
    queryKey: ['grants', tenant, name],
    queryFn: async () => (await ok(api.GET('/api/v1/tenants/{tenant}/grants/{name}', { params: { path: { tenant, name } } }))) as unknown as Grant,
  }),
  explain: (tenant: string, asked: { principal: string; card: string; operation: string; groups: string }) => queryOptions({
    queryKey: ['grants', tenant, 'explain', asked],
    queryFn: () => ok(api.GET('/api/v1/tenants/{tenant}/authz/explain', { params: { path: { tenant }, query: asked } })),
  }),
  limits: (tenant: string) => queryOptions({
    queryKey: ['limits', tenant], refetchInterval: 5_000,
    queryFn: () => ok(api.GET('/api/v1/tenants/{tenant}/limits', { params: { path: { tenant } } })),
  }),
  issuers: (tenant: string) => queryOptions({
    queryKey: ['issuers', tenant],
    queryFn: () => every<Issuer>((cursor) => ok(api.GET('/api/v1/tenants/{tenant}/issuers', { params: { path: { tenant }, query: query(cursor) } }))),
  }),
  issuer: (tenant: string, name: string) => queryOptions({
    queryKey: ['issuers', tenant, name],
    queryFn: async () => (await ok(api.GET('/api/v1/tenants/{tenant}/issuers/{name}', { params: { path: { tenant, name } } }))) as unknown as Issuer,
  }),
  issuerKeys: (tenant: string, name: string) => queryOptions({
    queryKey: ['issuer-keys', tenant, name], refetchInterval: 15_000,
    queryFn: () => ok(api.GET('/api/v1/tenants/{tenant}/issuers/{name}/keys', { params: { path: { tenant, name } } })),
  }),
  grants: (tenant: string) => queryOptions({
    queryKey: ['grants', tenant],
    queryFn: () => every<Grant>((cursor) => ok(api.GET('/api/v1/tenants/{tenant}/grants', { params: { path: { tenant }, query: query(cursor) } }))),
  }),
  policies: (tenant: string) => queryOptions({
    queryKey: ['policies', tenant],
    queryFn: () => every<Policy>((cursor) => ok(api.GET('/api/v1/tenants/{tenant}/policies', { params: { path: { tenant }, query: query(cursor) } }))),
  }),
  policy: (tenant: string, name: string) => queryOptions({
    queryKey: ['policies', tenant, name],
    queryFn: async () => (await ok(api.GET('/api/v1/tenants/{tenant}/policies/{name}', { params: { path: { tenant, name } } }))) as unknown as Policy,
  }),
  signingKeys: (tenant: string) => queryOptions({
    queryKey: ['signing-keys', tenant],
    queryFn: () => every<SigningKey>((cursor) => ok(api.GET('/api/v1/tenants/{tenant}/signing-keys', { params: { path: { tenant }, query: query(cursor) } }))),
  }),
  shadow: (tenant: string) => queryOptions({
    queryKey: ['shadow', tenant],
    queryFn: () => ok(api.GET('/api/v1/audit/shadow', { params: { query: { tenant } } })),
    staleTime: 10_000,
  }),
  stats: (tenant: string, minutes: number) => queryOptions({
    queryKey: ['stats', tenant, minutes],
    queryFn: () => ok(api.GET('/api/v1/stats', { params: { query: { tenant, minutes } } })),
  }),
}

export function useCards(tenant: string) {
  return useQuery(queries.cards(tenant))
}

/** Has everything of a kind read again. */
export function touched(client: QueryClient, ...kinds: string[]): Promise<unknown> {
  return Promise.all(kinds.map((kind) => client.invalidateQueries({ queryKey: [kind] })))
}
