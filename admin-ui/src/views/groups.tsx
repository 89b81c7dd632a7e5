// Groups: principals that grants reach together. A group is there as soon as a principal is in it or a grant names it.

import { Anchor, Button, Group as Row, Modal, MultiSelect, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem } from '../api/client'
import { queries, touched } from '../api/queries'
import type { Grant, Principal } from '../api/shapes'
import { groupsOf, type Group } from '../parts/access'
import { GrantForm, GrantTable } from '../parts/grantform'
import { State } from '../parts/marks'
import { Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { DataTable, type Columns } from '../parts/table'
import { Said } from '../parts/text'
import { useTell } from '../parts/toast'
import { useMay } from '../session'
import { s } from '../strings'

/** Puts a principal into a group, or takes it out; what else it says stays. */
async function setMember(tenant: string, name: string, group: string, isIn: boolean): Promise<void> {
  const now = await ok(api.GET('/api/v1/tenants/{tenant}/principals/{name}', { params: { path: { tenant, name } } })) as unknown as Principal
  const others = (now.spec.groups ?? []).filter((one) => one !== group)
  const spec = { ...now.spec, groups: isIn ? [...others, group] : others }
  await ok(api.PUT('/api/v1/tenants/{tenant}/principals/{name}', { params: { path: { tenant, name }, header: { 'If-Match': now.revision } }, body: { spec } as never }))
}

export function Groups(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const { group } = useSearch({ strict: false }) as { group?: string }
  return group ? <GroupView key={group} tenant={tenant} name={group} /> : <List tenant={tenant} />
}

function List({ tenant }: { tenant: string }): ReactNode {
  const principals = useQuery(queries.principals(tenant))
  const grants = useQuery(queries.grants(tenant))
  const mayWrite = useMay(tenant, 'administer')
  const [making, make] = useDisclosure()
  const groups = groupsOf(principals.data ?? [], grants.data ?? [])
  const error = principals.error ?? grants.error
  const columns: Columns<Group> = [
    { id: 'name', header: s.groupWord, accessorFn: (one) => one.name, cell: ({ row }) => <Anchor component={Link} to={`/t/${tenant}/groups` as string} search={{ group: row.original.name } as never} size="sm" fw={550}><Said>{row.original.name}</Said></Anchor> },
    { id: 'members', header: s.members, accessorFn: (one) => one.members.length, cell: ({ row }) => <><span className="num">{row.original.members.length}</span> <span className="muted">{row.original.members.slice(0, 4).join(', ')}{row.original.members.length > 4 ? ' …' : ''}</span></> },
    { id: 'grants', header: s.grants, accessorFn: (one) => one.grants.length, cell: ({ row }) => row.original.grants.length === 0 ? <span className="muted">{s.groupNoGrants}</span> : <><span className="num">{row.original.grants.length}</span> <span className="muted">{row.original.grants.slice(0, 3).join(', ')}</span></> },
  ]
  return (
    <Page title={s.navGroups} lead={s.groupsLead} actions={mayWrite && <Button onClick={make.open}>{s.newGroup}</Button>}>
      <Wrong error={error} retry={() => { void principals.refetch(); void grants.refetch() }} />
      <Panel flush>
        {principals.isPending || grants.isPending ? <Waiting rows={5} /> : error ? null : groups.length === 0 ? (
          <Empty title={s.noGroups} action={mayWrite && <Button onClick={make.open}>{s.newGroup}</Button>}>{s.noGroupsText}</Empty>
        ) : <DataTable rows={groups} columns={columns} label={s.navGroups} searchable />}
      </Panel>
      <NewGroup tenant={tenant} principals={principals.data ?? []} opened={making} close={make.close} />
    </Page>
  )
}

function NewGroup({ tenant, principals, opened, close }: { tenant: string; principals: Principal[]; opened: boolean; close: () => void }): ReactNode {
  const [name, setName] = useState('')
  const [members, setMembers] = useState<string[]>([])
  const [error, setError] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const client = useQueryClient()
  const navigate = useNavigate()
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    try {
      for (const member of members) await setMember(tenant, member, name, true)
      close()
      void navigate({ to: `/t/${tenant}/groups`, search: { group: name } as never })
    } catch (refused) {
      setError(refused)
    } finally {
      setBusy(false)
      await touched(client, 'principals')
    }
  }
  return (
    <Modal opened={opened} onClose={close} title={s.newGroup}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          <TextInput label={s.name} description={s.groupNameHint} value={name} maxLength={256} onChange={(event) => setName(event.currentTarget.value)} required withAsterisk={false} data-autofocus />
          {principals.length === 0 ? <Text size="sm" c="dimmed">{s.groupNeedsPrincipals}</Text> : <MultiSelect label={s.members} description={s.membersHint} data={principals.map((one) => one.name)} value={members} onChange={setMembers} searchable />}
          <Wrong error={error} />
          <Row justify="flex-end"><Button type="submit" loading={busy} disabled={name.trim() === '' || members.length === 0}>{s.create}</Button></Row>
        </Stack>
      </form>
    </Modal>
  )
}

function GroupView({ tenant, name }: { tenant: string; name: string }): ReactNode {
  const principals = useQuery(queries.principals(tenant))
  const grants = useQuery(queries.grants(tenant))
  const issuers = useQuery(queries.issuers(tenant))
  const mayWrite = useMay(tenant, 'administer')
  const [edited, setEdited] = useState<Grant | 'new'>()
  const ours = (grants.data ?? []).filter((grant) => grant.spec.group === name)
  const members = (principals.data ?? []).filter((one) => one.spec.groups?.includes(name))
  const tokens = (issuers.data ?? []).filter((one) => (one.spec.kind ?? 'oidc') === 'oidc')
  return (
    <Page
      title={<Said>{name}</Said>}
      crumbs={<><Anchor component={Link} to={`/t/${tenant}/groups` as string} size="sm">{s.navGroups}</Anchor><span>/</span><Said>{name}</Said></>}
    >
      <Wrong error={principals.error ?? grants.error} retry={() => { void principals.refetch(); void grants.refetch() }} />
      {principals.data && grants.data && members.length === 0 && ours.length === 0 && <Text size="sm" c="dimmed" mb={12}>{s.groupGone}</Text>}
      <Stack gap={16}>
        {principals.isPending ? <Panel flush><Waiting /></Panel> : principals.data && <Members tenant={tenant} group={name} members={members} all={principals.data} mayWrite={mayWrite} />}
        <Panel title={s.grants} flush actions={mayWrite && <Button size="compact-sm" onClick={() => setEdited('new')}>{s.newGrant}</Button>}>
          {grants.isPending ? <Waiting rows={3} /> : ours.length === 0 ? <Text size="sm" c="dimmed" p={14}>{s.groupGrantsNone}</Text>
            : <GrantTable tenant={tenant} grants={ours} label={s.grants} mayWrite={mayWrite} showGrantee={false} edit={setEdited} />}
        </Panel>
        <Panel title={s.groupTokens}>
          <Text size="sm" c="dimmed">{s.groupTokensText}</Text>
          {tokens.map((one) => <Row key={one.name} gap={8} mt={6}><Anchor component={Link} to={`/t/${tenant}/issuers/${one.name}` as string} size="sm">{one.name}</Anchor><span className="mono"><Said>{one.spec.groups_claim ?? 'groups'}</Said></span></Row>)}
        </Panel>
      </Stack>
      {edited && <GrantForm tenant={tenant} grantee={{ kind: 'group', name }} grant={edited === 'new' ? undefined : edited} close={() => setEdited(undefined)} />}
    </Page>
  )
}

function Members({ tenant, group, members, all, mayWrite }: { tenant: string; group: string; members: Principal[]; all: Principal[]; mayWrite: boolean }): ReactNode {
  const client = useQueryClient()
  const tell = useTell()
  const [adding, { open, close }] = useDisclosure()
  const [chosen, setChosen] = useState<string[]>([])
  const change = async (names: string[], isIn: boolean) => {
    try {
      for (const name of names) await setMember(tenant, name, group, isIn)
      tell(isIn ? s.membersAdded(names.length) : s.memberRemoved(names[0] ?? ''), { undo: () => void change(names, !isIn) })
    } catch (error) {
      tell(error instanceof Problem ? error.message : s.pageFailed, { bad: true })
    }
    await touched(client, 'principals', 'grants')
  }
  const columns: Columns<Principal> = [
    { id: 'name', header: s.principal, accessorFn: (one) => one.name, cell: ({ row }) => <Anchor component={Link} to={`/t/${tenant}/principals/${row.original.name}` as string} size="sm" fw={550}>{row.original.name}</Anchor> },
    { id: 'kind', header: s.kind, accessorFn: (one) => one.spec.kind ?? '' },
    { id: 'state', header: s.state, accessorFn: (one) => one.spec.state ?? '', cell: ({ row }) => <State of={row.original.spec.state} /> },
    { id: 'actions', header: () => <span className="skip">{s.actions}</span>, cell: ({ row }) => mayWrite && <div style={{ textAlign: 'right' }}><Button size="compact-xs" variant="default" onClick={() => void change([row.original.name], false)} aria-label={`${s.takeOut} ${row.original.name}`}>{s.takeOut}</Button></div> },
  ]
  const others = all.filter((one) => !one.spec.groups?.includes(group)).map((one) => one.name)
  return (
    <Panel title={s.members} flush actions={mayWrite && <Button size="compact-sm" onClick={open} disabled={others.length === 0}>{s.addMembers}</Button>}>
      {members.length === 0 ? <Text size="sm" c="dimmed" p={14}>{s.noMembers}</Text> : <DataTable rows={members} columns={columns} label={s.members} searchable />}
      <Modal opened={adding} onClose={close} title={s.addMembers}>
        <form onSubmit={(event) => { event.preventDefault(); void change(chosen, true).then(() => { setChosen([]); close() }) }}>
          <Stack gap={14}>
            <MultiSelect label={s.members} data={others} value={chosen} onChange={setChosen} searchable data-autofocus />
            <Row justify="flex-end"><Button type="submit" disabled={chosen.length === 0}>{s.addMembers}</Button></Row>
          </Stack>
        </form>
      </Modal>
    </Panel>
  )
}
