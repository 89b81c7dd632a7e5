// Changing the limits of a tenant, an agent, a principal or a grant: everything else that it says stays.

import { Anchor, Button, Group, Select, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect, useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { queries, touched } from '../api/queries'
import { writable, type Card, type Grant, type Principal, type Tenant } from '../api/shapes'
import { s } from '../strings'
import { Dialog } from './dialog'
import { LimitFields } from './limits'
import { callLimits, mergedLimits, type CallLimits } from './quota'
import { Waiting, Wrong } from './states'
import { useTell } from './toast'

export type Limited = 'tenant' | 'card' | 'principal' | 'grant'

/** What is limited, as it is now. */
type Now = { revision: number; spec: { limits?: unknown; [more: string]: unknown } }

async function read(tenant: string, kind: Limited, name: string): Promise<Now> {
  const path = { tenant, name }
  switch (kind) {
    case 'tenant': return (await ok(api.GET('/api/v1/tenants/{tenant}', { params: { path: { tenant } } }))) as unknown as Tenant
    case 'card': return (await ok(api.GET('/api/v1/tenants/{tenant}/cards/{name}', { params: { path } }))) as unknown as Card
    case 'principal': return (await ok(api.GET('/api/v1/tenants/{tenant}/principals/{name}', { params: { path } }))) as unknown as Principal
    case 'grant': return (await ok(api.GET('/api/v1/tenants/{tenant}/grants/{name}', { params: { path } }))) as unknown as Grant
  }
}

async function write(tenant: string, kind: Limited, name: string, now: Now, limits: CallLimits): Promise<void> {
  const merged = mergedLimits(now.spec.limits as Record<string, unknown> | undefined, limits)
  const spec: Record<string, unknown> = { ...now.spec, limits: merged }
  if (Object.keys(merged).length === 0) delete spec['limits']
  const header = { 'If-Match': now.revision }
  const path = { tenant, name }
  switch (kind) {
    case 'tenant': await ok(api.PUT('/api/v1/tenants/{tenant}', { params: { path: { tenant }, header }, body: { spec } as never })); return
    case 'card': {
      const wanted = writable(spec)
      // A card that is not sent stays, digit by digit.
      delete wanted['card']
      await ok(api.PUT('/api/v1/tenants/{tenant}/cards/{name}', { params: { path, header }, body: { spec: wanted } as never }))
      return
    }
    case 'principal': await ok(api.PUT('/api/v1/tenants/{tenant}/principals/{name}', { params: { path, header }, body: { spec } as never })); return
    case 'grant': await ok(api.PUT('/api/v1/tenants/{tenant}/grants/{name}', { params: { path, header }, body: { spec } as never })); return
  }
}

const KINDS: Record<Limited, string> = { tenant: 'tenants', card: 'cards', principal: 'principals', grant: 'grants' }

/** The form: for what it is told, or it asks. */
export function LimitForm({ tenant, of, kinds, close }: {
  tenant: string
  of?: { kind: Limited; name: string } | undefined
  /** What may be limited by who is signed in. */
  kinds: Limited[]
  close: () => void
}): ReactNode {
  const client = useQueryClient()
  const tell = useTell()
  const [what, setWhat] = useState<{ kind: Limited; name: string }>(of ?? { kind: 'principal', name: '' })
  const [limits, setLimits] = useState<CallLimits>()
  const [error, setError] = useState<unknown>()
  const chosen = what.kind === 'tenant' || what.name !== ''
  const now = useQuery({ queryKey: ['limit-form', tenant, what.kind, what.name], queryFn: () => read(tenant, what.kind, what.name), enabled: chosen, staleTime: 0, gcTime: 0 })
  useEffect(() => {
    if (now.data) setLimits(callLimits(now.data.spec.limits as Record<string, unknown> | undefined))
  }, [now.data])
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (!now.data || !limits) return
    try {
      await write(tenant, what.kind, what.name, now.data, limits)
      await touched(client, KINDS[what.kind], 'limits')
      tell(s.limitsSaved)
      close()
    } catch (refused) {
      setError(refused)
    }
  }
  const problem = error instanceof Problem ? error : undefined
  const choose = (next: { kind: Limited; name: string }) => { setWhat(next); setLimits(undefined); setError(undefined) }
  return (
    <Dialog close={close} title={of ? `${s.limits}: ${s.limitedKinds[of.kind]} ${of.kind === 'tenant' ? tenant : of.name}` : s.setLimit}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          {!of && (
            <Group grow align="start">
              <Select label={s.kind} allowDeselect={false} data={kinds.map((value) => ({ value, label: s.limitedKinds[value] }))} value={what.kind} onChange={(kind) => choose({ kind: (kind ?? 'principal') as Limited, name: '' })} />
              {what.kind !== 'tenant' && <NameSelect key={what.kind} tenant={tenant} kind={what.kind} name={what.name} set={(name) => choose({ kind: what.kind, name })} />}
            </Group>
          )}
          <Wrong error={now.error} retry={() => void now.refetch()} />
          {chosen && !now.error && (limits ? <LimitFields limits={limits} set={setLimits} problem={problem} /> : <Waiting rows={3} />)}
          <Text size="xs" c="dimmed">{s.limitsHint}</Text>
          <Wrong error={error} />
          <Group justify="flex-end"><Button type="submit" disabled={!limits || !now.data}>{s.save}</Button></Group>
        </Stack>
      </form>
    </Dialog>
  )
}

function NameSelect({ tenant, kind, name, set }: { tenant: string; kind: Exclude<Limited, 'tenant'>; name: string; set: (name: string) => void }): ReactNode {
  const cards = useQuery({ ...queries.cards(tenant), enabled: kind === 'card' })
  const principals = useQuery({ ...queries.principals(tenant), enabled: kind === 'principal' })
  const grants = useQuery({ ...queries.grants(tenant), enabled: kind === 'grant' })
  const all: { name: string }[] | undefined = kind === 'card' ? cards.data : kind === 'principal' ? principals.data : grants.data?.filter((one) => one.spec.effect !== 'deny')
  return <Select label={s.name} data={(all ?? []).map((one) => one.name)} value={name || null} onChange={(value) => set(value ?? '')} searchable placeholder={s.choose} />
}

/** The place where a limited thing is shown. */
export function limitedAt(tenant: string, kind: string, name: string): string {
  switch (kind) {
    case 'card': return `/t/${tenant}/agents/${name}`
    case 'principal': return `/t/${tenant}/principals/${name}`
    case 'grant': return `/t/${tenant}/grants/${name}`
    default: return '/tenants'
  }
}

export function LimitedLink({ tenant, kind, name }: { tenant: string; kind: string; name: string }): ReactNode {
  return <Anchor component={Link} to={limitedAt(tenant, kind, name)} size="sm" fw={550}>{name}</Anchor>
}
