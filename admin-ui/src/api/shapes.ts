// Documents that the API describes as any JSON, as far as the page reads them. Everything may be missing, and members
// that are not named here pass through untouched.

import type { Schemas } from './client'

export interface Resource<Spec> {
  kind: string
  tenant: string
  name: string
  id: string
  revision: number
  created_at: string
  updated_at: string
  spec: Spec
}

export interface Interface {
  url?: string
  binding?: string
  version?: string
}

export interface Skill {
  id?: string
  name?: string
  description?: string
  tags?: string[]
}

export interface AgentCard {
  name?: string
  description?: string
  version?: string
  provider?: { organization?: string; url?: string }
  documentationUrl?: string
  iconUrl?: string
  capabilities?: { streaming?: boolean; pushNotifications?: boolean; extendedAgentCard?: boolean }
  skills?: Skill[]
  securitySchemes?: Record<string, unknown>
  signatures?: unknown[]
}

export interface CardSpec {
  card?: AgentCard
  state?: string
  trust_tier?: string
  version?: number
  direction?: string
  visibility?: string
  policy?: string
  reviewed?: string
  upstream?: { interfaces?: Interface[]; dialect?: string; credential?: { type?: string }; [more: string]: unknown }
  [more: string]: unknown
}

export type Card = Resource<CardSpec>

export interface Detector {
  id: string
  name?: string
  action?: string
  words?: string[]
  pattern?: string
  threshold?: number
  [more: string]: unknown
}

export interface PolicySpec {
  description?: string
  surfaces?: string[]
  mode?: string
  on_error?: string
  on_unscannable?: string
  detectors?: Detector[]
  [more: string]: unknown
}

export type Policy = Resource<PolicySpec>
export type Principal = Resource<{ kind?: string; state?: string; groups?: string[]; limits?: Record<string, number>; [more: string]: unknown }>

export interface GrantSpec {
  principal?: string
  group?: string
  effect?: 'allow' | 'deny'
  mode?: 'enforce' | 'shadow'
  cards: string[]
  operations: string[]
  modes?: string[]
  max_delegation_depth?: number
  delegation_loops?: boolean
  limits?: Record<string, number>
  [more: string]: unknown
}

export type Grant = Resource<GrantSpec>
export type IssuerSpec = Partial<Schemas['IssuerDocument']>
export type Issuer = Resource<IssuerSpec>
export type Tenant = Resource<{ display_name?: string; state?: string; default_card?: string; default_policy?: string; floor_policy?: string; [more: string]: unknown }>
export type Key = Schemas['KeyView']
export type SigningKey = Schemas['SigningKeyView']
export type Record_ = Schemas['RecordView']

/** What a spec is sent back as: what only reads show is left out. */
export function writable<T extends object>(spec: T): T {
  const copy = structuredClone(spec) as Record<string, unknown>
  delete copy['trust_tier']
  delete copy['version']
  return copy as T
}

/** The dialect a person would name it by. */
export function dialectWord(spec: CardSpec): string {
  const versions = new Map<string, string[]>()
  for (const one of spec.upstream?.interfaces ?? []) {
    const binding = bindingWord(one.binding)
    versions.set(binding, [...(versions.get(binding) ?? []), ...(one.version ? [one.version] : [])])
  }
  return [...versions].map(([binding, all]) => `${binding} ${[...new Set(all)].join(' ')}`.trim()).join(', ') || '–'
}

export function bindingWord(binding: string | undefined): string {
  const words: Record<string, string> = { JSONRPC: 'JSON-RPC', 'HTTP+JSON': 'HTTP+JSON', GRPC: 'gRPC' }
  return words[binding ?? ''] ?? binding ?? ''
}
