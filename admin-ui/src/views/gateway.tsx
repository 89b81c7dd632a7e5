// The gateway itself: its health, its tenants, its administrators and their tokens.

import { Alert, Anchor, Button, Group, Modal, PasswordInput, Select, Stack, Tabs, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem, type Schemas } from '../api/client'
import { every, queries, touched } from '../api/queries'
import type { Tenant } from '../api/shapes'
import { Dialog } from '../parts/dialog'
import { Mark, State } from '../parts/marks'
import { Confirm, Copy, Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { When } from '../parts/time'
import { useTell } from '../parts/toast'
import { useBase } from '../parts/useit'
import { isPlatform, useMe } from '../session'
import { s } from '../strings'

type Admin = Schemas['AdminView']
type Token = Schemas['TokenView']
type Assignment = Schemas['Assignment']

interface Ready {
  status: string
  checks: Record<string, boolean>
  relaxed: string[]
}

export function Settings(): ReactNode {
  const base = useBase()
  const health = useQuery({ queryKey: ['health'], queryFn: () => ok(api.GET('/api/v1/health')), refetchInterval: 10_000 })
  const ready = useQuery({
    queryKey: ['ready'], refetchInterval: 10_000,
    queryFn: async (): Promise<Ready> => (await (await fetch('/readyz')).json()) as Ready,
  })
  return (
    <Page title={s.navSettings} lead={s.settingsLead}>
      <Wrong error={health.error} retry={() => void health.refetch()} />
      <div className="two">
        <Panel title={s.health}>
          {!ready.data ? <Waiting rows={4} /> : (
            <dl className="facts">
              <dt>{s.gateway}</dt><dd>{ready.data.status === 'ready' ? <Mark tone="good">{s.readyWord}</Mark> : <Mark tone="bad">{ready.data.status}</Mark>}</dd>
              {Object.entries(ready.data.checks ?? {}).map(([name, fine]) => <Fragmented key={name} name={CHECKS[name] ?? name} fine={fine} />)}
              <dt>{s.database}</dt><dd>{health.data ? <Mark tone={health.data.store === 'writable' ? 'good' : 'warn'}>{health.data.store === 'writable' ? s.answers : s.readOnlyWord}</Mark> : health.error ? <Mark tone="bad">{s.answersNot}</Mark> : '–'}</dd>
              <dt>{s.version}</dt><dd className="num">{health.data?.version ?? '–'}</dd>
              <dt>{s.revision}</dt><dd className="num">{health.data?.revision ?? '–'}</dd>
              <dt>{s.publicAddress}</dt><dd className="mono">{base}</dd>
            </dl>
          )}
        </Panel>
        <Stack gap={16}>
          <Panel title={s.relaxed}>
            {(ready.data?.relaxed ?? []).length === 0 ? <Text size="sm" c="dimmed">{s.relaxedNone}</Text> : (
              <Stack gap={6}><Text size="sm">{s.relaxedText}</Text>{ready.data!.relaxed.map((option) => <div key={option}><Mark tone="warn" plain><span className="mono">{option}</span></Mark></div>)}</Stack>
            )}
          </Panel>
          <Panel title={s.closedRows}>
            {(health.data?.closed ?? []).length === 0 ? <Text size="sm" c="dimmed">{s.closedNone}</Text> : (
              <Stack gap={10}>
                <Text size="sm">{s.closedText}</Text>
                {health.data!.closed.map((row, at) => (
                  <div key={at}>
                    <Text size="sm" fw={550}>{row.kind} <Said>{`${row.tenant}/${row.name}`}</Said></Text>
                    {row.problems.map((problem, index) => <Text key={index} size="xs"><span className="mono">{problem.path}</span> <Said>{problem.problem}</Said></Text>)}
                  </div>
                ))}
              </Stack>
            )}
          </Panel>
        </Stack>
      </div>
      <Stack mt={16}>
        <Panel title={s.keyboard}>
          <dl className="facts">
            {s.shortcuts.map(([keys, what]) => <Shortcut key={keys} keys={keys!} what={what!} />)}
          </dl>
        </Panel>
      </Stack>
    </Page>
  )
}

const CHECKS: Record<string, string> = { registry: s.checkRegistry, audit: s.checkAudit, running: s.checkRunning }

function Fragmented({ name, fine }: { name: string; fine: boolean }): ReactNode {
  return <><dt>{name}</dt><dd>{fine ? <Mark tone="good">{s.yes}</Mark> : <Mark tone="bad">{s.no}</Mark>}</dd></>
}

function Shortcut({ keys, what }: { keys: string; what: string }): ReactNode {
  return <><dt className="mono">{keys}</dt><dd>{what}</dd></>
}

export function Tenants(): ReactNode {
  const tenants = useQuery(queries.tenants())
  const me = useMe()
  const [making, make] = useDisclosure()
  return (
    <Page title={s.navTenants} lead={s.tenantsLead} actions={isPlatform(me) && <Button onClick={make.open}>{s.newTenant}</Button>}>
      <Wrong error={tenants.error} retry={() => void tenants.refetch()} />
      <Panel flush>
        {tenants.isPending ? <Waiting rows={3} /> : (tenants.data ?? []).length === 0 ? <Empty title={isPlatform(me) ? s.noTenant : s.noRole}>{isPlatform(me) ? s.noTenantText : s.noRoleText}</Empty> : (
          <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.navTenants)}>
            <table className="grid">
              <thead><tr><th scope="col">{s.tenant}</th><th scope="col">{s.displayName}</th><th scope="col">{s.state}</th><th scope="col">{s.isDefault}</th><th scope="col">{s.isFloor}</th><th scope="col">{s.made}</th><th scope="col"><span className="skip">{s.actions}</span></th></tr></thead>
              <tbody>{(tenants.data ?? []).map((tenant) => <TenantRow key={tenant.name} tenant={tenant} platform={isPlatform(me)} />)}</tbody>
            </table>
          </div>
        )}
      </Panel>
      <NewTenant opened={making} close={make.close} />
    </Page>
  )
}

function TenantRow({ tenant, platform }: { tenant: Tenant; platform: boolean }): ReactNode {
  const client = useQueryClient()
  const tell = useTell()
  const [suspending, suspend] = useDisclosure()
  const suspended = tenant.spec.state === 'suspended'
  const set = async (state: string) => {
    try {
      const now = await ok(api.GET('/api/v1/tenants/{tenant}', { params: { path: { tenant: tenant.name } } })) as unknown as Tenant
      await ok(api.PUT('/api/v1/tenants/{tenant}', { params: { path: { tenant: tenant.name }, header: { 'If-Match': now.revision } }, body: { spec: { ...now.spec, state } } as never }))
      await touched(client, 'tenants')
      tell(s.saved)
    } catch (error) {
      tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
      throw error
    }
  }
  return (
    <tr>
      <td><Anchor component={Link} to={`/t/${tenant.name}/mission` as string} size="sm" fw={550}>{tenant.name}</Anchor></td><td><Said>{tenant.spec.display_name}</Said></td><td><State of={tenant.spec.state} /></td>
      <td>{tenant.spec.default_policy ?? '–'}</td><td>{tenant.spec.floor_policy ?? '–'}</td><td><When at={tenant.created_at} /></td>
      <td style={{ textAlign: 'right' }}>
        {platform && <Button size="compact-xs" variant="default" onClick={() => (suspended ? void set('active').catch(() => undefined) : suspend.open())}>{suspended ? s.resumeTenant : s.suspendTenant}</Button>}
        <Confirm open={suspending} close={suspend.close} title={`${s.suspendTenant} ${tenant.name}?`} consequence={s.suspendText} action={s.suspendTenant} confirm={() => set('suspended')} word={tenant.name} />
      </td>
    </tr>
  )
}

function NewTenant({ opened, close }: { opened: boolean; close: () => void }): ReactNode {
  const [name, setName] = useState('')
  const [display, setDisplay] = useState('')
  const [error, setError] = useState<unknown>()
  const client = useQueryClient()
  const navigate = useNavigate()
  const problem = error instanceof Problem ? error : undefined
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    try {
      await ok(api.POST('/api/v1/tenants', { body: { name, spec: { display_name: display } } as never }))
      await touched(client, 'tenants')
      close()
      void navigate({ to: `/t/${name}/register` })
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <Modal opened={opened} onClose={close} title={s.newTenant}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          <TextInput label={s.name} description={s.nameRule} value={name} onChange={(event) => setName(event.currentTarget.value)} required withAsterisk={false} error={problem?.of('name')} data-autofocus />
          <TextInput label={s.displayName} value={display} onChange={(event) => setDisplay(event.currentTarget.value)} />
          {problem && !problem.of('name') && <Wrong error={problem} />}
          <Group justify="flex-end"><Button type="submit">{s.create}</Button></Group>
        </Stack>
      </form>
    </Modal>
  )
}

export function Admins(): ReactNode {
  const { tab = 'accounts' } = useSearch({ strict: false }) as { tab?: string }
  const navigate = useNavigate()
  return (
    <Page title={s.navAdmins} lead={s.adminsLead}>
      <Tabs value={tab} onChange={(to) => void navigate({ to: '/admins', search: (to === 'accounts' ? {} : { tab: to }) as never })} keepMounted={false}>
        <Tabs.List mb={16}><Tabs.Tab value="accounts">{s.accounts}</Tabs.Tab><Tabs.Tab value="tokens">{s.tokens}</Tabs.Tab></Tabs.List>
        <Tabs.Panel value="accounts"><Accounts /></Tabs.Panel>
        <Tabs.Panel value="tokens"><Tokens /></Tabs.Panel>
      </Tabs>
    </Page>
  )
}

const ROLE_WORDS: Record<string, string> = { platform_admin: s.rolePlatform, tenant_admin: s.roleTenant, operator: s.roleOperator, auditor: s.roleAuditor }

function RolesOf({ roles }: { roles: Assignment[] }): ReactNode {
  return <Group gap={6}>{roles.map((one, at) => <Mark key={at} tone="calm" plain>{ROLE_WORDS[one.role] ?? one.role}{one.tenant === '*' ? '' : ` · ${one.tenant}`}</Mark>)}</Group>
}

function RolesField({ roles, set }: { roles: Assignment[]; set: (roles: Assignment[]) => void }): ReactNode {
  const tenants = useQuery(queries.tenants())
  const me = useMe()
  const put = (at: number, part: Partial<Assignment>) => set(roles.map((one, index) => {
    if (index !== at) return one
    const next = { ...one, ...part }
    return next.role === 'platform_admin' ? { ...next, tenant: '*' } : next
  }))
  const words = Object.entries(ROLE_WORDS).filter(([value]) => isPlatform(me) || value !== 'platform_admin')
  return (
    <Stack gap={8} role="group" aria-label={s.roles}>
      {roles.map((one, at) => (
        <Group key={at} gap={8} align="end" wrap="nowrap">
          <Select label={s.role} style={{ flex: 1 }} allowDeselect={false} data={words.map(([value, label]) => ({ value, label }))} value={one.role} onChange={(role) => put(at, { role: (role ?? 'auditor') as Assignment['role'] })} />
          <Select label={s.tenant} style={{ flex: 1 }} allowDeselect={false} disabled={one.role === 'platform_admin'} data={[{ value: '*', label: s.everyTenant }, ...(tenants.data ?? []).map((tenant) => ({ value: tenant.name, label: tenant.name }))]} value={one.tenant} onChange={(tenant) => put(at, { tenant: tenant ?? '*' })} />
          <Button variant="default" disabled={roles.length === 1} onClick={() => set(roles.filter((_, index) => index !== at))}>{s.remove}</Button>
        </Group>
      ))}
      <div><Button size="compact-sm" variant="default" onClick={() => set([...roles, { role: 'auditor', tenant: tenants.data?.[0]?.name ?? '*' }])}>{s.addRole}</Button></div>
    </Stack>
  )
}

function Accounts(): ReactNode {
  const admins = useQuery({ queryKey: ['admins'], queryFn: () => every<Admin>((cursor) => ok(api.GET('/api/v1/admins', { params: { query: { limit: 200, ...(cursor ? { cursor } : {}) } } }))) })
  const me = useMe()
  const client = useQueryClient()
  const tell = useTell()
  const [edited, setEdited] = useState<Admin | 'new'>()
  const [removing, setRemoving] = useState<Admin>()
  return (
    <Panel title={s.accounts} flush actions={<Button size="compact-sm" onClick={() => setEdited('new')}>{s.newAccount}</Button>}>
      <Wrong error={admins.error} retry={() => void admins.refetch()} />
      {admins.isPending ? <Waiting rows={3} /> : (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.accounts)}>
          <table className="grid">
            <thead><tr><th scope="col">{s.name}</th><th scope="col">{s.signsInWith}</th><th scope="col">{s.roles}</th><th scope="col">{s.state}</th><th scope="col">{s.lastSignIn}</th><th scope="col"><span className="skip">{s.actions}</span></th></tr></thead>
            <tbody>
              {(admins.data ?? []).map((admin) => (
                <tr key={admin.id}>
                  <td><Text size="sm" fw={550} component="span">{admin.name}</Text> <Said>{admin.spec.display_name}</Said></td><td>{admin.source === 'sso' ? <span title={`${admin.subject ?? ''} ${s.subjectAt} ${admin.issuer ?? ''}`}>{s.sourceSso}</span> : s.sourcePassword}</td><td><RolesOf roles={admin.spec.roles} /></td><td><State of={admin.spec.state} /></td><td><When at={admin.signed_in_at} style="ago" /></td>
                  <td style={{ textAlign: 'right', whiteSpace: 'nowrap' }}>
                    <Button size="compact-xs" variant="default" mr={6} onClick={() => setEdited(admin)} aria-label={`${s.edit} ${admin.name}`}>{s.edit}</Button>
                    {admin.name !== me?.name && <Button size="compact-xs" variant="default" onClick={() => setRemoving(admin)} aria-label={`${s.remove} ${admin.name}`}>{s.remove}</Button>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {edited && <AccountForm admin={edited === 'new' ? undefined : edited} close={() => setEdited(undefined)} />}
      <Confirm
        open={removing !== undefined} close={() => setRemoving(undefined)} title={`${s.remove} ${removing?.name ?? ''}?`} consequence={s.removeAccount} action={s.remove}
        confirm={async () => {
          try {
            await ok(api.DELETE('/api/v1/admins/{name}', { params: { path: { name: removing!.name }, header: { 'If-Match': removing!.revision } } }))
          } catch (error) {
            tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
            throw error
          } finally {
            await touched(client, 'admins')
          }
        }}
      />
    </Panel>
  )
}

function AccountForm({ admin, close }: { admin: Admin | undefined; close: () => void }): ReactNode {
  const client = useQueryClient()
  const tell = useTell()
  const me = useMe()
  const [name, setName] = useState(admin?.name ?? '')
  const [display, setDisplay] = useState(admin?.spec.display_name ?? '')
  const [password, setPassword] = useState('')
  const [state, setState] = useState<string>(admin?.spec.state ?? 'active')
  const [roles, setRoles] = useState<Assignment[]>(admin?.spec.roles ?? [{ role: 'auditor', tenant: '*' }])
  const [error, setError] = useState<unknown>()
  const problem = error instanceof Problem ? error : undefined
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const spec = { display_name: display, roles, state: state as 'active' | 'disabled' }
    try {
      if (!admin) await ok(api.POST('/api/v1/admins', { body: { name, password, spec } }))
      else {
        await ok(api.PUT('/api/v1/admins/{name}', { params: { path: { name: admin.name }, header: { 'If-Match': admin.revision } }, body: { spec } } as never))
        if (password) await ok(api.PUT('/api/v1/admins/{name}/password', { params: { path: { name: admin.name } }, body: { password } }))
      }
      await touched(client, 'admins')
      tell(s.saved)
      close()
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <Dialog close={close} title={admin ? `${s.edit} ${admin.name}` : s.newAccount} size="lg">
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          {!admin && <TextInput label={s.name} description={s.accountNameRule} value={name} onChange={(event) => setName(event.currentTarget.value)} required withAsterisk={false} error={problem?.of('name')} autoComplete="off" data-autofocus />}
          <TextInput label={s.displayName} value={display} onChange={(event) => setDisplay(event.currentTarget.value)} error={problem?.of('display_name')} />
          {admin?.source !== 'sso' && <PasswordInput label={admin ? s.newPassword : s.password} description={admin ? s.passwordKept : s.passwordRule} value={password} onChange={(event) => setPassword(event.currentTarget.value)} required={!admin} withAsterisk={false} error={problem?.of('password')} autoComplete="new-password" />}
          {admin?.source === 'sso' ? <Text size="sm" c="dimmed">{s.rolesBySso}</Text> : <RolesField roles={roles} set={setRoles} />}
          {admin && admin.name !== me?.name && <Select label={s.state} description={s.stateHint} allowDeselect={false} data={[{ value: 'active', label: s.stateActive }, { value: 'disabled', label: s.stateDisabled }]} value={state} onChange={(value) => setState(value ?? 'active')} />}
          {problem && !problem.of('name') && !problem.of('password') && <Wrong error={problem} />}
          <Group justify="flex-end"><Button type="submit">{s.save}</Button></Group>
        </Stack>
      </form>
    </Dialog>
  )
}

function Tokens(): ReactNode {
  const tokens = useQuery({ queryKey: ['tokens'], queryFn: () => every<Token>((cursor) => ok(api.GET('/api/v1/tokens', { params: { query: { limit: 200, ...(cursor ? { cursor } : {}) } } }))) })
  const client = useQueryClient()
  const tell = useTell()
  const [making, make] = useDisclosure()
  const [revoking, setRevoking] = useState<Token>()
  const state = (token: Token) => (token.revoked_at ? 'revoked' : token.expires_at && Date.parse(token.expires_at) <= Date.now() ? 'expired' : 'active')
  return (
    <Panel title={s.tokens} flush actions={<Button size="compact-sm" onClick={make.open}>{s.newToken}</Button>}>
      <Wrong error={tokens.error} retry={() => void tokens.refetch()} />
      {tokens.isPending ? <Waiting rows={3} /> : (tokens.data ?? []).length === 0 ? <Empty title={s.noTokens}>{s.noTokensText}</Empty> : (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.tokens)}>
          <table className="grid">
            <thead><tr><th scope="col">{s.name}</th><th scope="col">{s.token}</th><th scope="col">{s.roles}</th><th scope="col">{s.state}</th><th scope="col">{s.lastUsed}</th><th scope="col">{s.expires}</th><th scope="col"><span className="skip">{s.actions}</span></th></tr></thead>
            <tbody>
              {(tokens.data ?? []).map((token) => (
                <tr key={token.id}>
                  <td><Said>{token.name}</Said></td><td className="mono">{token.hint}</td><td><RolesOf roles={token.roles} /></td><td><State of={state(token)} /></td><td><When at={token.last_used_at} style="ago" /></td><td>{token.expires_at ? <When at={token.expires_at} /> : s.never}</td>
                  <td style={{ textAlign: 'right' }}>{!token.revoked_at && <Button size="compact-xs" variant="default" onClick={() => setRevoking(token)}>{s.revoke}</Button>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <NewToken opened={making} close={make.close} />
      <Confirm
        open={revoking !== undefined} close={() => setRevoking(undefined)} title={s.revokeToken} consequence={s.revokeTokenText} action={s.revoke}
        confirm={async () => {
          try {
            await ok(api.DELETE('/api/v1/tokens/{id}', { params: { path: { id: revoking!.id } } }))
          } catch (error) {
            tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
            throw error
          } finally {
            await touched(client, 'tokens')
          }
        }}
      />
    </Panel>
  )
}

function NewToken({ opened, close }: { opened: boolean; close: () => void }): ReactNode {
  const client = useQueryClient()
  const [name, setName] = useState('')
  const [roles, setRoles] = useState<Assignment[]>([{ role: 'auditor', tenant: '*' }])
  const [days, setDays] = useState('90')
  const [made, setMade] = useState<string>()
  const [error, setError] = useState<unknown>()
  const done = () => {
    setMade(undefined)
    setName('')
    setError(undefined)
    close()
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    try {
      const expires_at = days ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : null
      setMade((await ok(api.POST('/api/v1/tokens', { body: { name, roles, expires_at } }))).token)
      await touched(client, 'tokens')
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <Modal opened={opened} onClose={done} title={s.newToken} size="lg" closeOnClickOutside={!made}>
      {made ? (
        <Stack gap={12}>
          <Alert variant="light" color="green" title={<span style={{ color: 'var(--good)' }}>{s.tokenOnce}</span>}><Text size="sm">{s.keyOnceText}</Text></Alert>
          <div className="code">{made}</div>
          <Group justify="space-between"><Copy text={made} /><Button onClick={done}>{s.done}</Button></Group>
        </Stack>
      ) : (
        <form onSubmit={(event) => void submit(event)}>
          <Stack gap={14}>
            <TextInput label={s.tokenFor} value={name} onChange={(event) => setName(event.currentTarget.value)} required withAsterisk={false} data-autofocus />
            <RolesField roles={roles} set={setRoles} />
            <Select label={s.expires} allowDeselect={false} data={[{ value: '', label: s.never }, ...['30', '90', '365'].map((value) => ({ value, label: s.days(Number(value)) }))]} value={days} onChange={(value) => setDays(value ?? '')} />
            <Wrong error={error} />
            <Group justify="flex-end"><Button type="submit">{s.create}</Button></Group>
          </Stack>
        </form>
      )}
    </Modal>
  )
}
