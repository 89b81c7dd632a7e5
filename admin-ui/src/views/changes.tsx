// Who changed what, when and from where, and what was refused: of a tenant, or of everybody for the platform.

import { Anchor, Button, Group, Select, Text, TextInput } from '@mantine/core'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, type Schemas } from '../api/client'
import { ACTIONS, KINDS, placeOfThing } from '../parts/deeds'
import { Mark } from '../parts/marks'
import { iso, local, PAGE, Paged, usePages } from '../parts/pages'
import { Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { When } from '../parts/time'
import { s } from '../strings'

type Change = Schemas['ChangeView']

const NAMES = ['from', 'until', 'actor', 'kind', 'name', 'action', 'outcome', 'code', 'tenant'] as const
type Filters = { [Name in (typeof NAMES)[number]]?: string }

export function Changes(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  return <List tenant={tenant} at={`/t/${tenant}/changes`} />
}

export function AllChanges(): ReactNode {
  return <List at="/changes" />
}

function List({ tenant, at }: { tenant?: string; at: string }): ReactNode {
  const given = useSearch({ strict: false }) as Filters
  const filters = Object.fromEntries(NAMES.flatMap((name) => (given[name] ? [[name, given[name]]] : []))) as Filters
  if (tenant) delete filters.tenant
  const navigate = useNavigate()
  const search = (next: Filters) => void navigate({ to: at, search: next as never })
  const pages = usePages<Change>(['changes', tenant ?? '', filters], (cursor) => {
    const query = { ...filters, limit: PAGE, ...(cursor ? { cursor } : {}) }
    return ok(tenant ? api.GET('/api/v1/tenants/{tenant}/changes', { params: { path: { tenant }, query } }) : api.GET('/api/v1/changes', { params: { query } }))
  })
  const { query, items } = pages
  return (
    <Page title={tenant ? s.navChanges : s.navAllChanges} lead={tenant ? s.changesLead : s.allChangesLead}>
      <Search key={JSON.stringify(filters)} filters={filters} search={search} everybody={!tenant} />
      <Wrong error={query.error} retry={() => void query.refetch()} />
      <Panel flush>
        {query.isPending ? <Waiting rows={10} /> : items.length === 0 && !query.error ? (
          <Empty title={s.noChanges}>{Object.keys(filters).length > 0 ? s.noRecordsFiltered : s.noChangesText}</Empty>
        ) : (
          <Paged pages={pages}>
            <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.navChanges)}>
              <table className="grid">
                <thead>
                  <tr>
                    <th scope="col">{s.time}</th><th scope="col">{s.who}</th><th scope="col">{s.action}</th><th scope="col">{s.what}</th>
                    {!tenant && <th scope="col">{s.tenant}</th>}
                    <th scope="col">{s.outcome}</th><th scope="col" className="num">{s.revision}</th><th scope="col">{s.cameFrom}</th>
                  </tr>
                </thead>
                <tbody>{items.map((one) => <Row key={one.id} change={one} tenant={tenant} />)}</tbody>
              </table>
            </div>
          </Paged>
        )}
      </Panel>
    </Page>
  )
}

function Row({ change, tenant }: { change: Change; tenant: string | undefined }): ReactNode {
  const place = placeOfThing(change)
  const name = change.name === '' ? <span className="muted">{s.unnamed}</span> : <Said>{change.name}</Said>
  return (
    <tr>
      <td><When at={change.at} /></td>
      <td><Said>{change.actor}</Said><Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>{[change.role?.replace('_', ' '), s.ways[change.way as keyof typeof s.ways] ?? change.way].filter(Boolean).join(', ')}</Text></td>
      <td>{ACTIONS[change.action] ?? change.action}</td>
      <td><Text span size="xs" c="dimmed">{KINDS[change.kind] ?? change.kind}</Text> {place && change.action !== 'delete' ? <Anchor component={Link} to={place as string} size="sm">{name}</Anchor> : name}</td>
      {!tenant && <td><Said>{change.tenant}</Said></td>}
      <td>{change.outcome === 'done' ? <Mark tone="good" plain>{s.changeDone}</Mark> : <Mark tone="bad">{s.changeRefused}</Mark>}{change.code && <Text span size="xs" c="dimmed"> {change.code}</Text>}</td>
      <td className="num" style={{ whiteSpace: 'nowrap' }}>{change.revision_after ? s.fromTo(change.revision_before ?? undefined, change.revision_after) : '–'}</td>
      <td className="mono"><Said>{change.source}</Said></td>
    </tr>
  )
}

function Search({ filters, search, everybody }: { filters: Filters; search: (filters: Filters) => void; everybody: boolean }): ReactNode {
  const [values, setValues] = useState(filters)
  const set = (part: Filters) => setValues({ ...values, ...part })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    search(Object.fromEntries(Object.entries(values).filter(([, value]) => value)) as Filters)
  }
  const words = (all: Record<string, string>) => Object.entries(all).map(([value, label]) => ({ value, label }))
  return (
    <form onSubmit={submit} role="search" aria-label={s.navChanges}>
      <Group gap={10} mb={16} align="end">
        <TextInput label={s.fromTime} type="datetime-local" size="xs" value={local(values.from)} onChange={(event) => set({ from: iso(event.currentTarget.value) })} />
        <TextInput label={s.untilTime} type="datetime-local" size="xs" value={local(values.until)} onChange={(event) => set({ until: iso(event.currentTarget.value) })} />
        <TextInput label={s.who} size="xs" w={140} value={values.actor ?? ''} onChange={(event) => set({ actor: event.currentTarget.value.trim() })} />
        <Select label={s.action} size="xs" w={150} clearable data={words(ACTIONS)} value={values.action ?? null} onChange={(action) => set({ action: action ?? '' })} />
        <Select label={s.kind} size="xs" w={150} clearable data={words(KINDS)} value={values.kind ?? null} onChange={(kind) => set({ kind: kind ?? '' })} />
        <TextInput label={s.name} size="xs" w={150} value={values.name ?? ''} onChange={(event) => set({ name: event.currentTarget.value.trim() })} />
        {everybody && <TextInput label={s.tenant} size="xs" w={130} value={values.tenant ?? ''} onChange={(event) => set({ tenant: event.currentTarget.value.trim() })} />}
        <Select label={s.outcome} size="xs" w={130} clearable data={[{ value: 'done', label: s.changeDone }, { value: 'refused', label: s.changeRefused }]} value={values.outcome ?? null} onChange={(outcome) => set({ outcome: outcome ?? '' })} />
        <Button size="xs" type="submit">{s.search}</Button>
        {Object.keys(filters).length > 0 && <Button size="xs" variant="default" onClick={() => search({})}>{s.clear}</Button>}
      </Group>
    </form>
  )
}
