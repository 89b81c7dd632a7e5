// Who may call: principals, their keys and other proofs, what is granted to them, their groups and limits.

import { Alert, Anchor, Button, Group, Modal, Select, Stack, TagsInput, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { queries, touched } from '../api/queries'
import type { Grant, Issuer, Key, Principal } from '../api/shapes'
import { grantsOf, groupsOf } from '../parts/access'
import { Dialog } from '../parts/dialog'
import { GrantForm, GrantTable } from '../parts/grantform'
import { pairsOf, proofsOf, specOf } from '../parts/issuer'
import { LimitForm } from '../parts/limitedit'
import { UseOf } from '../parts/limits'
import { Mark, State } from '../parts/marks'
import { Confirm, Copy, Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { DataTable, type Columns } from '../parts/table'
import { Said } from '../parts/text'
import { When } from '../parts/time'
import { useTell } from '../parts/toast'
import { useMay } from '../session'
import { s } from '../strings'

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
    { id: 'groups', header: s.inGroups, accessorFn: (one) => (one.spec.groups ?? []).join(', '), cell: ({ getValue }) => <Said>{String(getValue()) || '–'}</Said> },
    { id: 'keys', header: s.keys, accessorFn: (one) => keysOf(one.name).length, cell: ({ getValue }) => <span className="num">{String(getValue())}</span> },
    {
      id: 'grants', header: s.mayCall, accessorFn: (one) => [...new Set(grantsOf(grants.data ?? [], one).filter((grant) => grant.spec.effect !== 'deny').flatMap((grant) => grant.spec.cards ?? []))].join(', '),
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
  const principal = useQuery(queries.principal(tenant, name))
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
            <Grants tenant={tenant} principal={principal.data} />
            <GroupsAndLimits tenant={tenant} principal={principal.data} />
            <Proofs tenant={tenant} principal={name} />
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
        <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.keys)}>
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

function Grants({ tenant, principal }: { tenant: string; principal: Principal }): ReactNode {
  const grants = useQuery(queries.grants(tenant))
  const mayWrite = useMay(tenant, 'administer')
  const [edited, setEdited] = useState<Grant | 'new'>()
  const ours = grantsOf(grants.data ?? [], principal)
  return (
    <Panel
      title={s.grants} flush
      actions={<><Anchor component={Link} to={`/t/${tenant}/explain` as string} search={{ principal: principal.name } as never} size="sm">{s.explain}</Anchor>{mayWrite && <Button size="compact-sm" onClick={() => setEdited('new')}>{s.newGrant}</Button>}</>}
    >
      <Wrong error={grants.error} retry={() => void grants.refetch()} />
      {grants.isPending ? <Waiting rows={3} /> : ours.length === 0 ? <Text size="sm" c="dimmed" p={14}>{s.noGrantsYet}</Text>
        : <GrantTable tenant={tenant} grants={ours} label={s.grants} mayWrite={mayWrite} showGrantee={ours.some((grant) => grant.spec.group)} edit={setEdited} />}
      {edited && <GrantForm tenant={tenant} grantee={{ kind: 'principal', name: principal.name }} grant={edited === 'new' ? undefined : edited} close={() => setEdited(undefined)} />}
    </Panel>
  )
}

/** Its groups, and what is used of its limits. */
function GroupsAndLimits({ tenant, principal }: { tenant: string; principal: Principal }): ReactNode {
  const mayWrite = useMay(tenant, 'administer')
  const [limiting, limit] = useDisclosure()
  const [grouping, group] = useDisclosure()
  const groups = principal.spec.groups ?? []
  return (
    <Panel title={s.groupsAndLimits}>
      <dl className="facts">
        <dt>{s.inGroups}</dt>
        <dd>
          <Group gap={8}>
            {groups.length === 0 && <span className="muted">{s.none}</span>}
            {groups.map((one) => <Anchor key={one} component={Link} to={`/t/${tenant}/groups` as string} search={{ group: one } as never} size="sm"><Said>{one}</Said></Anchor>)}
            {mayWrite && <Button size="compact-xs" variant="default" onClick={group.open} aria-label={`${s.edit}: ${s.inGroups}`}>{s.edit}</Button>}
          </Group>
        </dd>
        <dt>{s.limits}</dt>
        <dd>
          <div style={{ maxWidth: 380 }}><UseOf tenant={tenant} kind="principal" name={principal.name} /></div>
          {mayWrite && <Button mt={8} size="compact-xs" variant="default" onClick={limit.open} aria-label={`${s.edit}: ${s.limits}`}>{s.edit}</Button>}
        </dd>
      </dl>
      {limiting && <LimitForm tenant={tenant} of={{ kind: 'principal', name: principal.name }} kinds={['principal']} close={limit.close} />}
      {grouping && <GroupsForm tenant={tenant} principal={principal} close={group.close} />}
    </Panel>
  )
}

function GroupsForm({ tenant, principal, close }: { tenant: string; principal: Principal; close: () => void }): ReactNode {
  const principals = useQuery(queries.principals(tenant))
  const grants = useQuery(queries.grants(tenant))
  const client = useQueryClient()
  const [groups, setGroups] = useState(principal.spec.groups ?? [])
  const [error, setError] = useState<unknown>()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    try {
      await ok(api.PUT('/api/v1/tenants/{tenant}/principals/{name}', { params: { path: { tenant, name: principal.name }, header: { 'If-Match': principal.revision } }, body: { spec: { ...principal.spec, groups } } as never }))
      await touched(client, 'principals', 'grants')
      close()
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <Dialog close={close} title={s.inGroups}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          <TagsInput label={s.inGroups} description={s.inGroupsHint} data={groupsOf(principals.data ?? [], grants.data ?? []).map((one) => one.name)} value={groups} onChange={setGroups} splitChars={[]} acceptValueOnBlur data-autofocus />
          <Wrong error={error} />
          <Group justify="flex-end"><Button type="submit">{s.save}</Button></Group>
        </Stack>
      </form>
    </Dialog>
  )
}

/** Subjects of issuers that are this principal: of tokens, and of client certificates. */
function Proofs({ tenant, principal }: { tenant: string; principal: string }): ReactNode {
  const issuers = useQuery(queries.issuers(tenant))
  const client = useQueryClient()
  const tell = useTell()
  const mayWrite = useMay(tenant, 'administer')
  const [adding, add] = useDisclosure()
  const proofs = proofsOf(issuers.data ?? [], principal)
  const fail = (error: unknown) => tell(error instanceof Problem ? (error.fields[0]?.problem ?? error.message) : s.pageFailed, { bad: true })
  const put = async (issuer: string, subject: string, isIts: boolean) => {
    const now = await ok(api.GET('/api/v1/tenants/{tenant}/issuers/{name}', { params: { path: { tenant, name: issuer } } })) as unknown as Issuer
    const others = pairsOf(now.spec).filter((pair) => pair.subject !== subject)
    const spec = specOf(now.spec, isIts ? [...others, { subject, principal }] : others)
    await ok(api.PUT('/api/v1/tenants/{tenant}/issuers/{name}', { params: { path: { tenant, name: issuer }, header: { 'If-Match': now.revision } }, body: { spec } as never }))
    await touched(client, 'issuers')
  }
  return (
    <Panel title={s.otherProofs} flush actions={mayWrite && (issuers.data ?? []).length > 0 && <Button size="compact-sm" onClick={add.open}>{s.addProof}</Button>}>
      <Wrong error={issuers.error} retry={() => void issuers.refetch()} />
      {issuers.isPending ? <Waiting rows={2} /> : proofs.length === 0 ? (
        <Stack gap={6} p={14} align="start">
          <Text size="sm" c="dimmed">{s.noProofs}</Text>
          {(issuers.data ?? []).length === 0 && <Anchor component={Link} to={`/t/${tenant}/issuers` as string} size="sm">{s.makeIssuer}</Anchor>}
        </Stack>
      ) : (
        <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.otherProofs)}>
          <table className="grid">
            <thead><tr><th scope="col">{s.issuer}</th><th scope="col">{s.kind}</th><th scope="col">{s.subject}</th><th scope="col">{s.state}</th><th scope="col"><span className="skip">{s.actions}</span></th></tr></thead>
            <tbody>
              {proofs.map((proof) => (
                <tr key={`${proof.issuer} ${proof.subject}`}>
                  <td><Anchor component={Link} to={`/t/${tenant}/issuers/${proof.issuer}` as string} size="sm">{proof.issuer}</Anchor></td>
                  <td>{proof.kind === 'certificate' ? s.issuerCertificates : s.issuerTokens}</td>
                  <td><span className="mono"><Said>{proof.subject}</Said></span>{!proof.listed && <span className="muted"> {s.proofByName}</span>}</td>
                  <td><State of={proof.active ? 'active' : 'disabled'} /></td>
                  <td style={{ textAlign: 'right' }}>{mayWrite && proof.listed && <Button size="compact-xs" variant="default" aria-label={`${s.remove} ${proof.subject}`} onClick={() => void put(proof.issuer, proof.subject, false).then(() => tell(s.proofRemoved, { undo: () => void put(proof.issuer, proof.subject, true).catch(fail) }), fail)}>{s.remove}</Button>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {adding && <ProofForm issuers={issuers.data ?? []} close={add.close} save={async (issuer, subject) => { await put(issuer, subject, true); tell(s.proofAdded) }} />}
    </Panel>
  )
}

function ProofForm({ issuers, close, save }: { issuers: Issuer[]; close: () => void; save: (issuer: string, subject: string) => Promise<void> }): ReactNode {
  const [issuer, setIssuer] = useState(issuers[0]?.name ?? '')
  const [subject, setSubject] = useState('')
  const [error, setError] = useState<unknown>()
  const isCertificate = issuers.find((one) => one.name === issuer)?.spec.kind === 'certificate'
  return (
    <Dialog close={close} title={s.addProof}>
      <form onSubmit={(event) => { event.preventDefault(); save(issuer, subject).then(close, setError) }}>
        <Stack gap={14}>
          <Select label={s.chooseIssuer} allowDeselect={false} data={issuers.map((one) => one.name)} value={issuer} onChange={(value) => setIssuer(value ?? '')} searchable />
          <TextInput label={s.subject} description={isCertificate ? s.certificateSubjectsText : undefined} placeholder={isCertificate ? 'CN=bot,O=Acme' : 'user-4711'} value={subject} onChange={(event) => setSubject(event.currentTarget.value)} required withAsterisk={false} data-autofocus />
          <Wrong error={error} />
          <Group justify="flex-end"><Button type="submit" disabled={issuer === '' || subject === ''}>{s.save}</Button></Group>
        </Stack>
      </form>
    </Dialog>
  )
}
