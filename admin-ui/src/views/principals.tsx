// Who may call: principals, their keys, what is granted to them.

import { Alert, Anchor, Button, Group, Modal, MultiSelect, NumberInput, Select, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { queries, touched } from '../api/queries'
import type { Grant, Key, Principal } from '../api/shapes'
import { Mark, State } from '../parts/marks'
import { Confirm, Copy, Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { DataTable, type Columns } from '../parts/table'
import { Said } from '../parts/text'
import { When } from '../parts/time'
import { useTell } from '../parts/toast'
import { useMay } from '../session'
import { s } from '../strings'
import { TALK } from './register'

export const OPERATIONS = ['send', 'stream', 'get', 'list', 'cancel', 'subscribe', 'push_create', 'push_get', 'push_list', 'push_delete', 'extended_card']

/** A key's life in a word. */
export function keyState(key: Key, now: number): string {
  if (key.revoked_at) return 'revoked'
  if (key.expires_at && Date.parse(key.expires_at) <= now) return 'expired'
  return 'active'
}

export function Principals(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const principals = useQuery(queries.principals(tenant))
  const keys = useQuery(queries.keys(tenant))
  const grants = useQuery(queries.grants(tenant))
  const mayWrite = useMay(tenant, 'administer')
  const [making, make] = useDisclosure()
  const keysOf = (name: string) => (keys.data ?? []).filter((key) => key.principal === name && !key.revoked_at)
  const lastUse = (name: string) => keysOf(name).map((key) => key.last_used_at ?? '').sort().at(-1) || null
  const columns: Columns<Principal> = [
    { id: 'name', header: s.principal, accessorFn: (one) => one.name, cell: ({ row }) => <Anchor component={Link} to={`/t/${tenant}/principals/${row.original.name}` as string} size="sm" fw={550}>{row.original.name}</Anchor> },
    { id: 'kind', header: s.kind, accessorFn: (one) => one.spec.kind ?? '', cell: ({ getValue }) => String(getValue()) },
    { id: 'state', header: s.state, accessorFn: (one) => one.spec.state ?? '', cell: ({ row }) => <State of={row.original.spec.state} /> },
    { id: 'keys', header: s.keys, accessorFn: (one) => keysOf(one.name).length, cell: ({ getValue }) => <span className="num">{String(getValue())}</span> },
    {
      id: 'grants', header: s.mayCall, accessorFn: (one) => (grants.data ?? []).filter((grant) => grant.spec.principal === one.name).flatMap((grant) => grant.spec.cards ?? []).join(', '),
      cell: ({ getValue }) => <Said>{String(getValue()) || '–'}</Said>,
    },
    { id: 'used', header: s.lastUsed, accessorFn: (one) => lastUse(one.name) ?? '', cell: ({ row }) => <When at={lastUse(row.original.name)} style="ago" /> },
  ]
  return (
    <Page title={s.navPrincipals} lead={s.principalsLead} actions={mayWrite && <Button onClick={make.open}>{s.newPrincipal}</Button>}>
      <Wrong error={principals.error ?? keys.error ?? grants.error} retry={() => void principals.refetch()} />
      <Panel flush>
        {principals.isPending ? <Waiting rows={6} /> : (principals.data ?? []).length === 0 ? (
          <Empty title={s.noPrincipals} action={mayWrite && <Button onClick={make.open}>{s.newPrincipal}</Button>}>{s.noPrincipalsText}</Empty>
        ) : <DataTable rows={principals.data ?? []} columns={columns} label={s.navPrincipals} searchable />}
      </Panel>
      <NewPrincipal tenant={tenant} opened={making} close={make.close} />
    </Page>
  )
}

function NewPrincipal({ tenant, opened, close }: { tenant: string; opened: boolean; close: () => void }): ReactNode {
  const [name, setName] = useState('')
  const [kind, setKind] = useState('agent')
  const [error, setError] = useState<unknown>()
  const client = useQueryClient()
  const navigate = useNavigate()
  const problem = error instanceof Problem ? error : undefined
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    try {
      await ok(api.POST('/api/v1/tenants/{tenant}/principals', { params: { path: { tenant } }, body: { name, spec: { kind } } as never }))
      await touched(client, 'principals')
      close()
      void navigate({ to: `/t/${tenant}/principals/${name}` })
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <Modal opened={opened} onClose={close} title={s.newPrincipal}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          <TextInput label={s.name} description={s.nameRule} value={name} onChange={(event) => setName(event.currentTarget.value)} required withAsterisk={false} error={problem?.of('name')} data-autofocus />
          <Select label={s.kind} data={[{ value: 'agent', label: s.kindAgent }, { value: 'service', label: s.kindService }, { value: 'user', label: s.kindUser }]} value={kind} allowDeselect={false} onChange={(value) => setKind(value ?? 'agent')} />
          {problem && !problem.of('name') && <Wrong error={problem} />}
          <Group justify="flex-end"><Button type="submit">{s.create}</Button></Group>
        </Stack>
      </form>
    </Modal>
  )
}

export function PrincipalView(): ReactNode {
  const { tenant, name } = useParams({ strict: false }) as { tenant: string; name: string }
  const client = useQueryClient()
  const tell = useTell()
  const navigate = useNavigate()
  const mayWrite = useMay(tenant, 'administer')
  const [removing, remove] = useDisclosure()
  const principal = useQuery({
    queryKey: ['principals', tenant, name],
    queryFn: async () => (await ok(api.GET('/api/v1/tenants/{tenant}/principals/{name}', { params: { path: { tenant, name } } }))) as unknown as Principal,
  })
  const fail = (error: unknown) => tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
  const setState = async (state: string) => {
    if (!principal.data) return
    const now = await ok(api.GET('/api/v1/tenants/{tenant}/principals/{name}', { params: { path: { tenant, name } } })) as unknown as Principal
    await ok(api.PUT('/api/v1/tenants/{tenant}/principals/{name}', { params: { path: { tenant, name }, header: { 'If-Match': now.revision } }, body: { spec: { ...now.spec, state } } as never }))
    await touched(client, 'principals')
  }
  const toggle = async () => {
    const to = principal.data?.spec.state === 'disabled' ? 'active' : 'disabled'
    try {
      await setState(to)
      tell(to === 'disabled' ? s.principalDisabled : s.principalEnabled, { undo: () => void setState(to === 'disabled' ? 'active' : 'disabled').catch(fail) })
    } catch (error) {
      fail(error)
    }
  }
  return (
    <Page
      title={name}
      crumbs={<><Anchor component={Link} to={`/t/${tenant}/principals` as string} size="sm">{s.navPrincipals}</Anchor><span>/</span><span>{name}</span></>}
      actions={mayWrite && principal.data && (
        <>
          <Button variant="default" onClick={() => void toggle()}>{principal.data.spec.state === 'disabled' ? s.enable : s.disable}</Button>
          <Button variant="default" onClick={remove.open}>{s.remove}</Button>
        </>
      )}
    >
      <Wrong error={principal.error} retry={() => void principal.refetch()} />
      {principal.isPending && <Panel flush><Waiting /></Panel>}
      {principal.data && (
        <>
          <Group gap={10} mb={14}><State of={principal.data.spec.state} /><Mark tone="calm" plain>{principal.data.spec.kind ?? ''}</Mark><Anchor component={Link} to={`/t/${tenant}/audit?principal=${name}` as string} size="sm">{s.itsCalls}</Anchor></Group>
          <Stack gap={16}>
            <Keys tenant={tenant} principal={name} />
            <Grants tenant={tenant} principal={name} />
          </Stack>
          <Confirm
            open={removing} close={remove.close} title={`${s.remove} ${name}?`} consequence={s.removePrincipal} action={s.remove} word={name}
            confirm={async () => {
              await ok(api.DELETE('/api/v1/tenants/{tenant}/principals/{name}', { params: { path: { tenant, name }, header: { 'If-Match': principal.data.revision } } })).catch((error: unknown) => { fail(error); throw error })
              await touched(client, 'principals', 'keys', 'grants')
              void navigate({ to: `/t/${tenant}/principals` })
            }}
          />
        </>
      )}
    </Page>
  )
}

function Keys({ tenant, principal }: { tenant: string; principal: string }): ReactNode {
  const keys = useQuery(queries.keys(tenant))
  const client = useQueryClient()
  const tell = useTell()
  const mayWrite = useMay(tenant, 'administer')
  const mayRevoke = useMay(tenant, 'operate')
  const [making, make] = useDisclosure()
  const [revoking, setRevoking] = useState<Key>()
  const ours = (keys.data ?? []).filter((key) => key.principal === principal).reverse()
  return (
    <Panel title={s.keys} flush actions={mayWrite && <Button size="compact-sm" onClick={make.open}>{s.newKey}</Button>}>
      <Wrong error={keys.error} />
      {keys.isPending ? <Waiting rows={3} /> : ours.length === 0 ? <Text size="sm" c="dimmed" p={14}>{s.noKeys}</Text> : (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={s.keys}>
          <table className="grid">
            <thead><tr><th scope="col">{s.key}</th><th scope="col">{s.label}</th><th scope="col">{s.state}</th><th scope="col">{s.lastUsed}</th><th scope="col">{s.expires}</th><th scope="col"><span className="skip">{s.actions}</span></th></tr></thead>
            <tbody>
              {ours.map((key) => (
                <tr key={key.id}>
                  <td className="mono">{key.hint}</td><td><Said>{key.label}</Said></td><td><State of={keyState(key, Date.now())} /></td>
                  <td><When at={key.last_used_at} style="ago" /></td><td>{key.expires_at ? <When at={key.expires_at} /> : s.never}</td>
                  <td style={{ textAlign: 'right' }}>{mayRevoke && !key.revoked_at && <Button size="compact-xs" variant="default" onClick={() => setRevoking(key)}>{s.revoke}</Button>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <NewKey tenant={tenant} principal={principal} opened={making} close={make.close} />
      <Confirm
        open={revoking !== undefined} close={() => setRevoking(undefined)} title={s.revokeKey} consequence={s.revokeConsequence(revoking?.hint ?? '')} action={s.revoke}
        confirm={async () => {
          try {
            await ok(api.DELETE('/api/v1/tenants/{tenant}/keys/{id}', { params: { path: { tenant, id: revoking!.id } } }))
            tell(s.revoked)
          } catch (error) {
            tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
            throw error
          } finally {
            await touched(client, 'keys')
          }
        }}
      />
    </Panel>
  )
}

const EXPIRIES = [['', s.never], ['30', s.days(30)], ['90', s.days(90)], ['365', s.days(365)]] as const

function NewKey({ tenant, principal, opened, close }: { tenant: string; principal: string; opened: boolean; close: () => void }): ReactNode {
  const [label, setLabel] = useState('')
  const [days, setDays] = useState('')
  const [made, setMade] = useState<string>()
  const [error, setError] = useState<unknown>()
  const client = useQueryClient()
  const done = () => {
    setMade(undefined)
    setLabel('')
    setError(undefined)
    close()
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    try {
      const expires = days ? { expires_at: new Date(Date.now() + Number(days) * 86_400_000).toISOString() } : {}
      const key = await ok(api.POST('/api/v1/tenants/{tenant}/keys', { params: { path: { tenant } }, body: { principal, label, ...expires } as never }))
      setMade(key.key)
      await touched(client, 'keys')
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <Modal opened={opened} onClose={done} title={s.newKey} closeOnClickOutside={!made}>
      {made ? (
        <Stack gap={12}>
          <Alert variant="light" color="green" title={<span style={{ color: 'var(--good)' }}>{s.keyOnce}</span>}><Text size="sm">{s.keyOnceText}</Text></Alert>
          <div className="code" data-testid="key">{made}</div>
          <Group justify="space-between"><Copy text={made} /><Button onClick={done}>{s.done}</Button></Group>
        </Stack>
      ) : (
        <form onSubmit={(event) => void submit(event)}>
          <Stack gap={14}>
            <TextInput label={s.label} description={s.labelHint} value={label} onChange={(event) => setLabel(event.currentTarget.value)} data-autofocus />
            <Select label={s.expires} data={EXPIRIES.map(([value, text]) => ({ value, label: text }))} value={days} allowDeselect={false} onChange={(value) => setDays(value ?? '')} />
            <Wrong error={error} />
            <Group justify="flex-end"><Button type="submit">{s.create}</Button></Group>
          </Stack>
        </form>
      )}
    </Modal>
  )
}

function Grants({ tenant, principal }: { tenant: string; principal: string }): ReactNode {
  const grants = useQuery(queries.grants(tenant))
  const client = useQueryClient()
  const tell = useTell()
  const mayWrite = useMay(tenant, 'administer')
  const [edited, setEdited] = useState<Grant | 'new'>()
  const ours = (grants.data ?? []).filter((grant) => grant.spec.principal === principal)
  const remove = async (grant: Grant) => {
    try {
      await ok(api.DELETE('/api/v1/tenants/{tenant}/grants/{name}', { params: { path: { tenant, name: grant.name }, header: { 'If-Match': grant.revision } } }))
      const again = async () => {
        await ok(api.POST('/api/v1/tenants/{tenant}/grants', { params: { path: { tenant } }, body: { name: grant.name, spec: grant.spec } as never }))
        await touched(client, 'grants')
      }
      tell(s.grantRemoved, { undo: () => void again() })
    } catch (error) {
      tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
    }
    await touched(client, 'grants')
  }
  return (
    <Panel title={s.grants} flush actions={mayWrite && <Button size="compact-sm" onClick={() => setEdited('new')}>{s.newGrant}</Button>}>
      <Wrong error={grants.error} />
      {grants.isPending ? <Waiting rows={3} /> : ours.length === 0 ? <Text size="sm" c="dimmed" p={14}>{s.noGrantsYet}</Text> : (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={s.grants}>
          <table className="grid">
            <thead><tr><th scope="col">{s.name}</th><th scope="col">{s.navAgents}</th><th scope="col">{s.operations}</th><th scope="col">{s.limits}</th><th scope="col"><span className="skip">{s.actions}</span></th></tr></thead>
            <tbody>
              {ours.map((grant) => (
                <tr key={grant.id}>
                  <td>{grant.name}</td><td><Said>{(grant.spec.cards ?? []).join(', ')}</Said></td><td>{(grant.spec.operations ?? []).join(', ')}</td>
                  <td>{Object.entries(grant.spec.limits ?? {}).map(([name, value]) => `${name.replace('_', ' ')} ${String(value)}`).join(', ') || <span className="muted">{s.none}</span>}</td>
                  <td style={{ textAlign: 'right', whiteSpace: 'nowrap' }}>
                    {mayWrite && <><Button size="compact-xs" variant="default" mr={6} onClick={() => setEdited(grant)}>{s.edit}</Button><Button size="compact-xs" variant="default" onClick={() => void remove(grant)}>{s.remove}</Button></>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {edited && <GrantForm tenant={tenant} principal={principal} grant={edited === 'new' ? undefined : edited} close={() => setEdited(undefined)} />}
    </Panel>
  )
}

function GrantForm({ tenant, principal, grant, close }: { tenant: string; principal: string; grant: Grant | undefined; close: () => void }): ReactNode {
  const cards = useQuery(queries.cards(tenant))
  const client = useQueryClient()
  const [name, setName] = useState(grant?.name ?? `${principal}-2`)
  const [chosen, setChosen] = useState<string[]>(grant?.spec.cards ?? [])
  const [operations, setOperations] = useState<string[]>(grant?.spec.operations ?? TALK)
  const [perMinute, setPerMinute] = useState<number | string>(grant?.spec.limits?.['per_minute'] ?? '')
  const [concurrent, setConcurrent] = useState<number | string>(grant?.spec.limits?.['concurrent'] ?? '')
  const [error, setError] = useState<unknown>()
  const problem = error instanceof Problem ? error : undefined
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    // What others wrote into the grant stays, limits that this form does not know too.
    const limits: Record<string, unknown> = { ...grant?.spec.limits }
    for (const [key, value] of [['per_minute', perMinute], ['concurrent', concurrent]] as const) {
      if (value === '') delete limits[key]
      else limits[key] = Number(value)
    }
    const spec: Record<string, unknown> = { ...grant?.spec, principal, cards: chosen, operations, limits }
    if (Object.keys(limits).length === 0) delete spec['limits']
    try {
      if (grant) await ok(api.PUT('/api/v1/tenants/{tenant}/grants/{name}', { params: { path: { tenant, name: grant.name }, header: { 'If-Match': grant.revision } }, body: { spec } as never }))
      else await ok(api.POST('/api/v1/tenants/{tenant}/grants', { params: { path: { tenant } }, body: { name, spec } as never }))
      await touched(client, 'grants')
      close()
    } catch (refused) {
      setError(refused)
    }
  }
  const known = [...new Set(['*', ...(cards.data ?? []).map((card) => card.name), ...chosen])]
  return (
    <Modal opened onClose={close} title={grant ? `${s.edit} ${grant.name}` : s.newGrant}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          {!grant && <TextInput label={s.name} description={s.nameRule} value={name} onChange={(event) => setName(event.currentTarget.value)} required withAsterisk={false} error={problem?.of('name')} />}
          <MultiSelect label={s.navAgents} description={s.cardsHint} data={known} value={chosen} onChange={setChosen} searchable error={problem?.of('cards')} />
          <MultiSelect label={s.operations} data={['*', ...OPERATIONS]} value={operations} onChange={setOperations} searchable error={problem?.of('operations')} />
          <Group grow>
            <NumberInput label={s.perMinuteLimit} min={1} value={perMinute} onChange={setPerMinute} error={problem?.of('per_minute')} allowDecimal={false} />
            <NumberInput label={s.concurrentLimit} min={1} value={concurrent} onChange={setConcurrent} error={problem?.of('concurrent')} allowDecimal={false} />
          </Group>
          <Wrong error={error} />
          <Group justify="flex-end"><Button type="submit" disabled={chosen.length === 0 || operations.length === 0}>{s.save}</Button></Group>
        </Stack>
      </form>
    </Modal>
  )
}
