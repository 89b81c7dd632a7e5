// Guardrail policies: the list, and one with its form and its source side by side, a bench to try it on, its versions.

import { Anchor, Button, Group, Modal, Select, Stack, Tabs, Text, Textarea, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem, type FieldProblem, type Schemas } from '../api/client'
import { queries, touched } from '../api/queries'
import type { Detector, Policy, PolicySpec, Tenant } from '../api/shapes'
import { Difference, JsonEditor } from '../parts/json'
import { Mark, State } from '../parts/marks'
import { marked } from '../parts/marked'
import { Confirm, Page, Panel } from '../parts/pieces'
import { RuleForm } from '../parts/ruleform'
import { ShadowCounts } from '../parts/shadows'
import { Empty, Waiting, Wrong } from '../parts/states'
import { DataTable, type Columns } from '../parts/table'
import { Said } from '../parts/text'
import { When } from '../parts/time'
import { useTell } from '../parts/toast'
import { useMay } from '../session'
import { s } from '../strings'

const STARTER: PolicySpec = {
  surfaces: ['a2a_inbound', 'a2a_outbound'],
  mode: 'shadow',
  detectors: [{ id: 'secret', action: 'redact' }, { id: 'injection', action: 'block' }],
}

function useTenantRow(tenant: string): Tenant | undefined {
  return useQuery(queries.tenants()).data?.find((one) => one.name === tenant)
}

export function Policies(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const policies = useQuery(queries.policies(tenant))
  const cards = useQuery(queries.cards(tenant))
  const row = useTenantRow(tenant)
  const mayWrite = useMay(tenant, 'administer')
  const [making, make] = useDisclosure()
  const roles = (name: string) => [
    ...(row?.spec.default_policy === name ? [s.isDefault] : []),
    ...(row?.spec.floor_policy === name ? [s.isFloor] : []),
  ]
  const columns: Columns<Policy> = [
    { id: 'name', header: s.policy, accessorFn: (one) => one.name, cell: ({ row }) => <Anchor component={Link} to={`/t/${tenant}/policies/${row.original.name}` as string} size="sm" fw={550}>{row.original.name}</Anchor> },
    { id: 'mode', header: s.mode, accessorFn: (one) => one.spec.mode ?? 'enforce', cell: ({ getValue }) => <State of={String(getValue())} /> },
    { id: 'rules', header: s.rules, accessorFn: (one) => (one.spec.detectors ?? []).map((rule) => rule.name ?? rule.id).join(', '), cell: ({ row: { original: one } }) => <RuleNames rules={one.spec.detectors ?? []} /> },
    {
      id: 'used', header: s.usedBy, accessorFn: (one) => (cards.data ?? []).filter((card) => card.spec.policy === one.name).length,
      cell: ({ row: { original: one }, getValue }) => <>{roles(one.name).map((role) => <Mark key={role} tone="info" plain>{role}</Mark>)} <span className="num">{Number(getValue()) > 0 ? s.agentsCount(Number(getValue())) : roles(one.name).length === 0 ? <span className="muted">{s.nobody}</span> : ''}</span></>,
    },
    { id: 'shadow', header: s.lastDay, cell: ({ row }) => <ShadowCounts tenant={tenant} kind="policy" name={row.original.name} /> },
    { id: 'updated', header: s.changed, accessorFn: (one) => one.updated_at, cell: ({ row }) => <When at={row.original.updated_at} style="ago" /> },
  ]
  return (
    <Page title={s.navPolicies} lead={s.policiesLead} actions={mayWrite && <Button onClick={make.open}>{s.newPolicy}</Button>}>
      <Wrong error={policies.error} retry={() => void policies.refetch()} />
      <Panel flush>
        {policies.isPending ? <Waiting rows={5} /> : (policies.data ?? []).length === 0 ? (
          <Empty title={s.noPolicies} action={mayWrite && <Button onClick={make.open}>{s.newPolicy}</Button>}>{s.noPoliciesText}</Empty>
        ) : <DataTable rows={policies.data ?? []} columns={columns} label={s.navPolicies} searchable />}
      </Panel>
      <NewPolicy tenant={tenant} opened={making} close={make.close} />
    </Page>
  )
}

function RuleNames({ rules }: { rules: Detector[] }): ReactNode {
  return <><Said>{rules.slice(0, 6).map((rule) => rule.name ?? rule.id).join(', ')}</Said>{rules.length > 6 && <span className="muted"> {s.andMore(rules.length - 6)}</span>}</>
}

function NewPolicy({ tenant, opened, close }: { tenant: string; opened: boolean; close: () => void }): ReactNode {
  const [name, setName] = useState('')
  const [error, setError] = useState<unknown>()
  const client = useQueryClient()
  const navigate = useNavigate()
  const problem = error instanceof Problem ? error : undefined
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    try {
      await ok(api.POST('/api/v1/tenants/{tenant}/policies', { params: { path: { tenant } }, body: { name, spec: STARTER } as never }))
      await touched(client, 'policies')
      close()
      void navigate({ to: `/t/${tenant}/policies/${name}` })
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <Modal opened={opened} onClose={close} title={s.newPolicy}>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14}>
          <TextInput label={s.name} description={s.nameRule} value={name} onChange={(event) => setName(event.currentTarget.value)} required withAsterisk={false} error={problem?.of('name')} data-autofocus />
          <Text size="sm" c="dimmed">{s.starterText}</Text>
          {problem && !problem.of('name') && <Wrong error={problem} />}
          <Group justify="flex-end"><Button type="submit">{s.create}</Button></Group>
        </Stack>
      </form>
    </Modal>
  )
}

export function PolicyView(): ReactNode {
  const { tenant, name } = useParams({ strict: false }) as { tenant: string; name: string }
  const policy = useQuery(queries.policy(tenant, name))
  return (
    <>
      {!policy.data && (
        <Page title={name}><Wrong error={policy.error} retry={() => void policy.refetch()} />{policy.isPending && <Panel flush><Waiting rows={8} /></Panel>}</Page>
      )}
      {policy.data && <PolicyPage key={policy.data.revision} policy={policy.data} />}
    </>
  )
}

function PolicyPage({ policy }: { policy: Policy }): ReactNode {
  const { tenant, name } = policy
  const { tab = 'edit' } = useSearch({ strict: false }) as { tab?: string }
  const navigate = useNavigate()
  const client = useQueryClient()
  const tell = useTell()
  const mayWrite = useMay(tenant, 'administer')
  const row = useTenantRow(tenant)
  const original = useMemo(() => JSON.stringify(policy.spec, null, 2), [policy.spec])
  const [text, setText] = useState(original)
  const [problems, setProblems] = useState<FieldProblem[]>([])
  const [error, setError] = useState<unknown>()
  const [removing, remove] = useDisclosure()
  const draft = useMemo(() => {
    try {
      return JSON.parse(text) as PolicySpec
    } catch {
      return undefined
    }
  }, [text])
  const save = async () => {
    if (!draft) {
      setError(new Problem(400, 'json', s.notJson))
      return
    }
    try {
      await ok(api.PUT('/api/v1/tenants/{tenant}/policies/{name}', { params: { path: { tenant, name }, header: { 'If-Match': policy.revision } }, body: { spec: draft } as never }))
      await touched(client, 'policies')
      tell(s.policyInForce)
    } catch (refused) {
      setError(refused)
      setProblems(refused instanceof Problem ? refused.fields : [])
    }
  }
  const assign = async (role: 'default_policy' | 'floor_policy') => {
    if (!row) return
    const to = async (value: string | undefined) => {
      const now = await ok(api.GET('/api/v1/tenants/{tenant}', { params: { path: { tenant } } })) as unknown as Tenant
      const spec: Record<string, unknown> = { ...now.spec }
      if (value) spec[role] = value
      else delete spec[role]
      await ok(api.PUT('/api/v1/tenants/{tenant}', { params: { path: { tenant }, header: { 'If-Match': now.revision } }, body: { spec } as never }))
      await touched(client, 'tenants')
    }
    const before = row.spec[role] as string | undefined
    try {
      await to(before === name ? undefined : name)
      tell(s.saved, { undo: () => void to(before) })
    } catch (refused) {
      tell(refused instanceof Problem ? refused.message : s.pageFailed, { bad: true })
    }
  }
  const isDefault = row?.spec.default_policy === name
  const isFloor = row?.spec.floor_policy === name
  return (
    <Page
      title={name}
      crumbs={<><Anchor component={Link} to={`/t/${tenant}/policies` as string} size="sm">{s.navPolicies}</Anchor><span>/</span><span>{name}</span></>}
      actions={mayWrite && (
        <>
          <Button variant="default" onClick={() => void assign('default_policy')}>{isDefault ? s.unsetDefault : s.setDefault}</Button>
          <Button variant="default" onClick={() => void assign('floor_policy')}>{isFloor ? s.unsetFloor : s.setFloor}</Button>
          <Button variant="default" onClick={remove.open}>{s.remove}</Button>
        </>
      )}
    >
      <Group gap={10} mb={14}><State of={policy.spec.mode ?? 'enforce'} />{isDefault && <Mark tone="info" plain>{s.isDefault}</Mark>}{isFloor && <Mark tone="info" plain>{s.isFloor}</Mark>}<Text size="sm" c="dimmed">{s.changed} <When at={policy.updated_at} style="ago" /></Text><Group gap={6}><Text size="sm" c="dimmed">{s.lastDay}:</Text><div><ShadowCounts tenant={tenant} kind="policy" name={name} /></div></Group></Group>
      <Tabs value={tab} onChange={(to) => void navigate({ to: `/t/${tenant}/policies/${name}`, search: (to === 'edit' ? {} : { tab: to }) as never })} keepMounted={false}>
        <Tabs.List mb={16}><Tabs.Tab value="edit">{s.edit}</Tabs.Tab><Tabs.Tab value="revisions">{s.revisions}</Tabs.Tab></Tabs.List>
        <Tabs.Panel value="edit">
          <Stack gap={16}>
            <Wrong error={error} />
            <div className="two">
              <Panel title={s.rules}>{draft ? <RuleForm spec={draft} set={(spec) => setText(JSON.stringify(spec, null, 2))} readOnly={!mayWrite} /> : <Text size="sm" c="dimmed">{s.notJson}</Text>}</Panel>
              <Panel title={s.source} actions={mayWrite && <Button size="compact-sm" onClick={() => void save()} disabled={text === original}>{s.saveInForce}</Button>}>
                <JsonEditor value={text} change={setText} label={s.source} problems={problems} readOnly={!mayWrite} height="440px" />
              </Panel>
            </div>
            <Bench tenant={tenant} name={name} draft={text === original ? undefined : draft} />
          </Stack>
        </Tabs.Panel>
        <Tabs.Panel value="revisions"><PolicyRevisions policy={policy} /></Tabs.Panel>
      </Tabs>
      <Confirm
        open={removing} close={remove.close} title={`${s.remove} ${name}?`} consequence={s.removePolicy} action={s.remove} word={name}
        confirm={async () => {
          try {
            await ok(api.DELETE('/api/v1/tenants/{tenant}/policies/{name}', { params: { path: { tenant, name }, header: { 'If-Match': policy.revision } } }))
          } catch (refused) {
            tell(refused instanceof Problem ? (refused.fields[0]?.problem ?? refused.message) : s.pageFailed, { bad: true })
            throw refused
          }
          await touched(client, 'policies')
          void navigate({ to: `/t/${tenant}/policies` })
        }}
      />
    </Page>
  )
}

function Bench({ tenant, name, draft }: { tenant: string; name: string; draft: PolicySpec | undefined }): ReactNode {
  const [text, setText] = useState('')
  const [surface, setSurface] = useState('')
  const [result, setResult] = useState<Schemas['Simulated']>()
  const [error, setError] = useState<unknown>()
  const latest = useRef(0)
  useEffect(() => {
    if (text === '') {
      setResult(undefined)
      return
    }
    const turn = ++latest.current
    const timer = setTimeout(() => {
      const body = { texts: [text], ...(surface ? { surface } : {}), ...(draft ? { spec: draft } : {}) }
      ok(api.POST('/api/v1/tenants/{tenant}/policies/{name}/simulate', { params: { path: { tenant, name } }, body: body as never })).then(
        (answer) => {
          if (turn !== latest.current) return
          setResult(answer.results[0])
          setError(undefined)
        },
        (refused: unknown) => {
          if (turn === latest.current) setError(refused)
        },
      )
    }, 250)
    return () => clearTimeout(timer)
  }, [text, surface, draft, tenant, name])
  const tone = result?.outcome === 'blocked' ? 'bad' : result?.outcome === 'redacted' ? 'warn' : 'good'
  return (
    <Panel title={s.bench} actions={<Select aria-label={s.surface} size="xs" w={170} allowDeselect={false} value={surface} onChange={(value) => setSurface(value ?? '')} data={[{ value: '', label: s.firstSurface }, { value: 'a2a_inbound', label: s.surfaceIn }, { value: 'a2a_outbound', label: s.surfaceOut }]} />}>
      <div className="two">
        <Textarea label={s.benchText} description={draft ? s.benchDraft : s.benchStored} value={text} onChange={(event) => setText(event.currentTarget.value)} autosize minRows={5} maxRows={14} placeholder={s.benchPlaceholder} />
        <div aria-live="polite">
          <Wrong error={error} />
          {!result && !error && <Text size="sm" c="dimmed">{s.benchEmpty}</Text>}
          {result && !error && (
            <Stack gap={10}>
              <Group gap={8}><Mark tone={tone}>{result.outcome}</Mark>{result.rule && <Text size="sm"><Said>{result.rule}</Said></Text>}</Group>
              <div className="code">{marked(text, result.findings).map((piece, at) => piece.found ? <span key={at} className="finding" title={piece.found}>{piece.text}</span> : <span key={at}>{piece.text}</span>)}</div>
              {result.text !== undefined && result.text !== null && result.text !== text && <div><Text size="xs" c="dimmed" mb={4}>{s.goesOnAs}</Text><div className="code"><Said>{result.text}</Said></div></div>}
              {result.findings.map((one, at) => <Text key={at} size="xs"><span className="mono">{one.detector}</span> {one.name !== one.detector && <Said>{one.name}</Said>} · {one.action}, {one.mode} · {s.sure(one.score)}{one.view !== 'source' && ` · ${one.view}`}</Text>)}
              {(result.not_asked ?? []).length > 0 && <Text size="xs" c="dimmed">{s.notAsked} <Said>{(result.not_asked ?? []).join(', ')}</Said></Text>}
            </Stack>
          )}
        </div>
      </div>
    </Panel>
  )
}

function PolicyRevisions({ policy }: { policy: Policy }): ReactNode {
  const { tenant, name } = policy
  const client = useQueryClient()
  const tell = useTell()
  const mayWrite = useMay(tenant, 'administer')
  const history = useQuery({
    queryKey: ['policies', tenant, name, 'history'],
    queryFn: () => ok(api.GET('/api/v1/tenants/{tenant}/policies/{name}/history', { params: { path: { tenant, name }, query: { limit: 100 } } })),
  })
  const [chosen, setChosen] = useState<number>()
  const versions = history.data?.items ?? []
  const at = Math.max(0, versions.findIndex((one) => one.version === chosen))
  const [shown, before] = [versions[at], versions[at + 1]]
  const restore = async () => {
    if (!shown) return
    try {
      await ok(api.PUT('/api/v1/tenants/{tenant}/policies/{name}/version', { params: { path: { tenant, name }, header: { 'If-Match': policy.revision } }, body: { version: shown.version } }))
      await touched(client, 'policies')
      tell(s.rolledBack(shown.version))
    } catch (refused) {
      tell(refused instanceof Problem ? refused.message : s.pageFailed, { bad: true })
    }
  }
  if (history.isPending) return <Panel flush><Waiting /></Panel>
  return (
    <div className="two">
      <Panel title={s.revisions} flush actions={<Anchor component={Link} to={`/t/${tenant}/changes?kind=policy&name=${name}` as string} size="xs">{s.whoChanged}</Anchor>}>
        <Wrong error={history.error} />
        {versions.map((one, index) => (
          <button
            key={one.version} type="button" aria-pressed={index === at} onClick={() => setChosen(one.version)}
            style={{ display: 'block', width: '100%', textAlign: 'left', border: 0, borderBottom: '1px solid var(--line)', padding: '9px 14px', cursor: 'pointer', font: 'inherit', color: 'inherit', background: index === at ? 'var(--info-soft)' : 'transparent' }}
          >
            <Group justify="space-between"><Text size="sm" fw={550}>{s.versionIs(one.version)}</Text>{index === 0 && <Mark tone="good">{s.currentVersion}</Mark>}</Group>
            <div style={{ fontSize: 12 }}><When at={one.at} /> {s.changedBy} <Said>{one.changed_by}</Said></div>
          </button>
        ))}
      </Panel>
      <Panel title={s.compareWith} actions={mayWrite && shown && at > 0 && <Button size="compact-sm" variant="default" onClick={() => void restore()}>{s.rollbackTo(shown.version)}</Button>}>
        {shown && before ? <Difference before={before.spec} after={shown.spec} /> : <Text size="sm" c="dimmed">{s.firstVersion}</Text>}
      </Panel>
    </div>
  )
}
