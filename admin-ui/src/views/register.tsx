// Register an agent: its address, or its card as JSON → what was found → name and access → a test call → published, with calls to copy.

import { Alert, Anchor, Button, Checkbox, Collapse, Group, MultiSelect, Radio, SegmentedControl, Select, Stack, Stepper, Switch, Text, TextInput, Title } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { useState, type FormEvent, type ReactNode } from 'react'
import { api, ok, Problem, type FieldProblem, type Schemas } from '../api/client'
import { queries, touched } from '../api/queries'
import { writable, type AgentCard, type Card, type CardSpec } from '../api/shapes'
import { TALK } from '../parts/access'
import { CardFacts } from '../parts/cardfacts'
import { cardOf, createFromJson, JsonStep, ofCard } from '../parts/cardjson'
import { CredentialFields } from '../parts/credential'
import { Mark } from '../parts/marks'
import { Copy, Page, Panel } from '../parts/pieces'
import { credentialOf, NO_CREDENTIAL } from '../parts/secret'
import { Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { Trial } from '../parts/trial'
import { UseIt, useBase } from '../parts/useit'
import { flagWords } from '../parts/words'
import { s } from '../strings'

type Report = Schemas['ImportReport']
interface Preview {
  name: string
  spec: CardSpec
  problems: FieldProblem[]
  flags: FieldProblem[]
}
interface Found {
  preview: Preview
  import: Report
}

export function Register(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const [step, setStep] = useState(0)
  const [address, setAddress] = useState({ url: '', use_address: false, dialect: '' })
  const [found, setFound] = useState<Found>()
  const [name, setName] = useState('')
  const [key, setKey] = useState<string>()
  const [text, setText] = useState('')
  const [problems, setProblems] = useState<FieldProblem[]>([])
  const { from } = useSearch({ strict: false }) as { from?: string }
  const navigate = useNavigate()
  const [chosen, setChosen] = useState(false)
  const isJson = from === 'json'
  const card = isJson ? cardOf(text) : undefined
  const start = () => {
    setStep(0)
    setText('')
    setProblems([])
    setFound(undefined)
    setKey(undefined)
    setAddress({ url: '', use_address: false, dialect: '' })
  }
  return (
    <Page
      title={s.register} lead={s.registerLead}
      crumbs={<><Anchor component={Link} to={`/t/${tenant}/agents` as string} size="sm">{s.agents}</Anchor><span>/</span><span>{s.register}</span></>}
    >
      <Stepper active={step} size="xs" mb={20} allowNextStepsSelect={false} onStepClick={(to) => { if (to < step && step < 3) setStep(isJson ? 0 : to) }}>
        {[isJson ? s.cardJson : s.stepAddress, s.stepFound, s.stepAccess, s.stepTest, s.stepPublish].map((label, at) => <Stepper.Step key={label} label={label} disabled={at >= step || step >= 3} />)}
      </Stepper>
      {step === 0 && (
        <SegmentedControl
          mb={14} size="xs" aria-label={s.register} value={isJson ? 'json' : ''} onChange={(to) => { setChosen(true); void navigate({ to: `/t/${tenant}/register`, search: (to ? { from: to } : {}) as never }) }}
          data={[{ value: '', label: s.fromAddress }, { value: 'json', label: s.fromJson }]}
        />
      )}
      {step === 0 && isJson && <JsonStep text={text} setText={(now) => { setText(now); setProblems([]) }} problems={problems} next={() => { setName((now) => now || nameFrom(cardOf(text))); setStep(2) }} />}
      {step === 0 && !isJson && <AddressStep fresh={!chosen} tenant={tenant} address={address} setAddress={setAddress} next={(report) => { setFound(report); setName(report.preview.name); setStep(1) }} />}
      {step === 1 && found && <FoundStep found={found} back={() => setStep(0)} next={() => setStep(2)} />}
      {step === 2 && (isJson ? card : found) && (
        <AccessStep
          tenant={tenant} card={isJson ? (card as AgentCard) : (found?.preview.spec.card ?? {})} name={name} setName={setName} back={() => setStep(isJson ? 0 : 1)}
          create={async (settings) => {
            if (card) return createFromJson(tenant, name, text, settings)
            const body = { url: address.url.trim(), name, use_address: address.use_address, settings: { ...settings, state: 'draft' }, ...(address.dialect ? { dialect: address.dialect } : {}) }
            await ok(api.POST('/api/v1/tenants/{tenant}/cards/import', { params: { path: { tenant } }, body: body as never }))
          }}
          refused={isJson ? (fields) => { if (ofCard(fields).length > 0) { setProblems(ofCard(fields)); setStep(0) } } : undefined}
          next={(made) => { setKey(made); setStep(3) }}
        />
      )}
      {step === 3 && <TestStep tenant={tenant} name={name} next={() => setStep(4)} />}
      {step === 4 && <PublishStep tenant={tenant} name={name} apiKey={key} again={start} />}
    </Page>
  )
}

interface Address {
  url: string
  use_address: boolean
  dialect: string
}

function AddressStep({ fresh, tenant, address, setAddress, next }: {
  /** Whether the view begins here: whoever has just chosen it keeps the focus on the choice. */
  fresh: boolean
  tenant: string
  address: Address
  setAddress: (address: Address) => void
  next: (found: Found) => void
}): ReactNode {
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const [more, { toggle }] = useDisclosure()
  const problem = error instanceof Problem ? error : undefined
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      const body = { url: address.url.trim(), dry_run: true, use_address: address.use_address, settings: {}, ...(address.dialect ? { dialect: address.dialect } : {}) }
      const answer = await ok(api.POST('/api/v1/tenants/{tenant}/cards/import', { params: { path: { tenant } }, body: body as never }))
      next(answer as unknown as Found)
    } catch (refused) {
      setError(refused)
    } finally {
      setBusy(false)
    }
  }
  const denied = problem?.code === 'egress_denied'
  return (
    <Panel>
      <form onSubmit={(event) => void submit(event)}>
        <Stack gap={14} maw={640}>
          <TextInput
            label={s.agentUrl} description={s.agentUrlHint} placeholder="https://agent.example.com" value={address.url} required withAsterisk={false} autoFocus={fresh} type="url"
            onChange={(event) => setAddress({ ...address, url: event.currentTarget.value })} error={denied ? undefined : problem?.of('url')}
          />
          <div><Button variant="subtle" size="compact-xs" onClick={toggle} aria-expanded={more} px={0}>{s.advanced}</Button></div>
          <Collapse expanded={more}>
            <Stack gap={14}>
              <Switch label={s.useAddress} description={s.useAddressHint} checked={address.use_address} onChange={(event) => setAddress({ ...address, use_address: event.currentTarget.checked })} />
              <Select
                label={s.dialect} description={s.dialectHint} value={address.dialect} allowDeselect={false} maw={320}
                data={[{ value: '', label: s.dialectAuto }, ...['v10_jsonrpc', 'v10_http_json', 'v03_jsonrpc', 'v03_http_json', 'path_rpc'].map((value) => ({ value, label: value }))]}
                onChange={(value) => setAddress({ ...address, dialect: value ?? '' })}
              />
            </Stack>
          </Collapse>
          {denied && <Alert color="orange" variant="light" role="alert" title={<span style={{ color: 'var(--warn)' }}>{s.egressDenied}</span>}><Text size="sm"><Said>{problem.of('url')}</Said></Text></Alert>}
          {problem && !denied && !problem.of('url') && <Wrong error={problem} />}
          {error !== undefined && !problem && <Wrong error={error} />}
          <Group><Button type="submit" loading={busy}>{s.look}</Button></Group>
        </Stack>
      </form>
    </Panel>
  )
}

function FoundStep({ found, back, next }: { found: Found; back: () => void; next: () => void }): ReactNode {
  const { preview, import: report } = found
  const warnings = [...report.warnings, ...preview.flags.map(flagWords)]
  return (
    <Stack gap={16}>
      <div className="wide-left">
        <Panel title={preview.spec.card?.name ? <Said>{preview.spec.card.name}</Said> : s.stepFound}><CardFacts spec={preview.spec} /></Panel>
        <Stack gap={16}>
          <Panel title={s.warnings}>
            {warnings.length === 0 && preview.problems.length === 0 ? <Mark tone="good">{s.noWarnings}</Mark> : (
              <Stack gap={8}>
                {preview.problems.map((problem, at) => <Text key={at} size="sm" c="var(--bad)"><span className="mono">{problem.path}</span> <Said>{problem.problem}</Said></Text>)}
                {warnings.map((warning, at) => <Text key={at} size="sm"><Said>{warning}</Said></Text>)}
              </Stack>
            )}
          </Panel>
          <Panel title={s.speaks}>
            <Stack gap={10}>
              {report.interfaces.map((one, at) => (
                <div key={at}>
                  <Group gap={8}>{one.dialect ? <Mark tone="good">{one.dialect}</Mark> : <Mark tone="warn">{s.notSpoken}</Mark>}<Text size="xs" c="dimmed">{s.declared}: <Said>{one.declared}</Said></Text></Group>
                  <div className="mono"><Said>{one.url}</Said></div>
                  <Text size="xs" c="dimmed"><Said>{one.evidence}</Said></Text>
                </div>
              ))}
              <Text size="xs" c="dimmed">{s.foundAt} <span className="mono"><Said>{report.card_url}</Said></span></Text>
            </Stack>
          </Panel>
        </Stack>
      </div>
      <Group><Button onClick={next}>{s.next}</Button><Button variant="default" onClick={back}>{s.back}</Button></Group>
    </Stack>
  )
}

/** A name for an agent here, of what it calls itself. */
function nameFrom(card: Record<string, unknown> | undefined): string {
  return String(card?.['name'] ?? '').toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+/, '').slice(0, 63).replace(/-+$/, '')
}

function AccessStep({ tenant, card, name, setName, create, refused, back, next }: {
  tenant: string
  card: AgentCard
  /** Makes the agent with these settings. */
  create: (settings: Record<string, unknown>) => Promise<void>
  /** Hears which members were refused. */
  refused?: ((fields: FieldProblem[]) => void) | undefined
  name: string
  setName: (name: string) => void
  back: () => void
  next: (key: string | undefined) => void
}): ReactNode {
  const client = useQueryClient()
  const principals = useQuery(queries.principals(tenant))
  const policies = useQuery(queries.policies(tenant))
  const [credential, setCredential] = useState(NO_CREDENTIAL)
  const [policy, setPolicy] = useState('')
  const [who, setWho] = useState<'new' | 'old' | 'none'>('new')
  const [newName, setNewName] = useState('')
  const [chosen, setChosen] = useState<string[]>([])
  const [operations, setOperations] = useState<'all' | 'talk'>('talk')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const problem = error instanceof Problem ? error : undefined
  const caller = newName || `${name || 'agent'}-caller`.slice(0, 63)

  const allow = async (principal: string) => {
    const spec = { principal, cards: [name], operations: operations === 'all' ? ['*'] : TALK }
    const grant = `${principal}-${name}`.slice(0, 63).replace(/-+$/, '')
    await ok(api.POST('/api/v1/tenants/{tenant}/grants', { params: { path: { tenant } }, body: { name: grant, spec } as never }))
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    setError(undefined)
    try {
      await create({ ...(policy ? { policy } : {}), upstream: { credential: credentialOf(credential) } })
      let key: string | undefined
      if (who === 'new') {
        await ok(api.POST('/api/v1/tenants/{tenant}/principals', { params: { path: { tenant } }, body: { name: caller, spec: { kind: 'agent' } } as never }))
        await allow(caller)
        const made = await ok(api.POST('/api/v1/tenants/{tenant}/keys', { params: { path: { tenant } }, body: { principal: caller, label: name } as never }))
        key = made.key
      }
      if (who === 'old') for (const principal of chosen) await allow(principal)
      await touched(client, 'cards', 'principals', 'grants', 'keys')
      next(key)
    } catch (error) {
      setError(error)
      await touched(client, 'cards', 'principals', 'grants')
      if (error instanceof Problem) refused?.(error.fields)
    } finally {
      setBusy(false)
    }
  }
  const secure = Object.keys(card.securitySchemes ?? {})
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack gap={16}>
        <Panel title={s.stepAccess}>
          <Stack gap={14} maw={640}>
            <TextInput label={s.nameHere} description={s.nameHint} value={name} onChange={(event) => setName(event.currentTarget.value)} required withAsterisk={false} error={problem?.of('name') ?? (problem?.code === 'name_taken' ? problem.message : undefined)} pattern="[a-z0-9]([a-z0-9\-]{0,61}[a-z0-9])?" />
            <Select label={s.policy} value={policy} allowDeselect={false} onChange={(value) => setPolicy(value ?? '')} data={[{ value: '', label: s.policyDefault }, ...(policies.data ?? []).map((one) => ({ value: one.name, label: one.name }))]} />
          </Stack>
        </Panel>
        <Panel title={s.credential}>
          <Stack gap={14} maw={640}>
            {secure.length > 0 && <Text size="sm">{s.cardWants} <Said>{secure.join(', ')}</Said></Text>}
            <CredentialFields credential={credential} set={setCredential} />
            {problem?.of('credential') && <Text size="sm" c="var(--bad)" role="alert">{problem.of('credential')}</Text>}
          </Stack>
        </Panel>
        <Panel title={s.access}>
          <Stack gap={14} maw={640}>
            <Radio.Group value={who} onChange={(value) => setWho(value as typeof who)} aria-label={s.access}>
              <Stack gap={8}>
                <Radio value="new" label={s.accessNew} />
                <Radio value="old" label={s.accessOld} disabled={(principals.data ?? []).length === 0} />
                <Radio value="none" label={s.accessNone} />
              </Stack>
            </Radio.Group>
            {who === 'new' && <TextInput label={s.principalName} value={caller} onChange={(event) => setNewName(event.currentTarget.value)} />}
            {who === 'old' && <MultiSelect label={s.accessOld} data={(principals.data ?? []).map((one) => one.name)} value={chosen} onChange={setChosen} searchable />}
            {who !== 'none' && (
              <Radio.Group label={s.operations} value={operations} onChange={(value) => setOperations(value as typeof operations)}>
                <Stack gap={8} mt={6}><Radio value="talk" label={s.opsTalk} /><Radio value="all" label={s.opsAll} /></Stack>
              </Radio.Group>
            )}
          </Stack>
        </Panel>
        {problem && !problem.of('name') && !problem.of('credential') && problem.code !== 'name_taken' && <Wrong error={problem} />}
        {problem?.code === 'name_taken' && <Wrong error={problem} />}
        <Group><Button type="submit" loading={busy}>{s.saveDraft}</Button><Button variant="default" onClick={back}>{s.back}</Button></Group>
      </Stack>
    </form>
  )
}

function TestStep({ tenant, name, next }: { tenant: string; name: string; next: () => void }): ReactNode {
  const [works, setWorks] = useState(false)
  return (
    <Stack gap={16}>
      <Panel title={s.stepTest}>
        <Stack gap={12} maw={760}>
          <Text size="sm" c="dimmed">{s.testLead}</Text>
          <Trial tenant={tenant} name={name} worked={() => setWorks(true)} />
          {works && <div><Mark tone="good">{s.testWorks}</Mark></div>}
        </Stack>
      </Panel>
      <Group><Button onClick={next} variant={works ? 'filled' : 'default'}>{works ? s.next : s.testSkip}</Button></Group>
    </Stack>
  )
}

function PublishStep({ tenant, name, apiKey, again }: { tenant: string; name: string; apiKey: string | undefined; again: () => void }): ReactNode {
  const client = useQueryClient()
  const base = useBase()
  const card = useQuery(queries.card(tenant, name))
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const [read, setRead] = useState(false)
  const published = card.data?.spec.state === 'published'
  const flagged = error instanceof Problem && error.code === 'card_flagged' ? error : undefined
  const publish = async () => {
    setBusy(true)
    try {
      if (flagged && card.data) await review(tenant, card.data, flagged)
      else await ok(api.POST('/api/v1/tenants/{tenant}/cards/{name}/state', { params: { path: { tenant, name } }, body: { state: 'published' } as never }))
      setError(undefined)
      await touched(client, 'cards')
    } catch (refused) {
      setError(refused)
    } finally {
      setBusy(false)
    }
  }
  return (
    <Stack gap={16}>
      {!published && (
        <Panel title={s.stepPublish}>
          <Stack gap={12}>
            <Text size="sm" c="dimmed">{s.publishLead}</Text>
            {flagged ? (
              <Alert color="orange" variant="light" title={<span style={{ color: 'var(--warn)' }}>{s.flagged}</span>}>
                <Text size="sm" mb={8}>{s.flaggedText}</Text>
                {flagged.fields.map((field, at) => <Text key={at} size="sm"><Said>{flagWords(field)}</Said></Text>)}
                <Checkbox mt={10} label={s.publishReviewed} checked={read} onChange={(event) => setRead(event.currentTarget.checked)} />
              </Alert>
            ) : (
              <Wrong error={error} />
            )}
            <Group><Button onClick={() => void publish()} loading={busy} disabled={flagged !== undefined && !read}>{s.publish}</Button></Group>
          </Stack>
        </Panel>
      )}
      {published && (
        <>
          <Alert color="green" variant="light" title={<span style={{ color: 'var(--good)' }}>{name} {s.isPublished}</span>}>
            <Text size="sm">{s.callsAt} <span className="mono">{`${base}/a2a/${tenant}/${name}`}</span></Text>
          </Alert>
          {apiKey && (
            <Panel title={s.keyOnce} actions={<Copy text={apiKey} />}>
              <div className="mono" data-testid="key">{apiKey}</div>
              <Text size="xs" c="dimmed" mt={6}>{s.keyOnceText}</Text>
            </Panel>
          )}
          <Panel title={s.useIt}><UseIt tenant={tenant} name={name} apiKey={apiKey} /></Panel>
          <Group>
            <Button component={Link} to={`/t/${tenant}/agents/${name}` as string}>{s.openAgent}</Button>
            <Button component={Link} to={`/t/${tenant}/mission?card=${name}` as string} variant="default">{s.watchIt}</Button>
            <Button variant="default" onClick={again}>{s.registerAnother}</Button>
          </Group>
        </>
      )}
      {published && <Title order={2} style={{ display: 'none' }}>{s.published}</Title>}
    </Stack>
  )
}

/** Says that somebody has read what is flagged in this very document, and publishes it. */
export async function review(tenant: string, card: Card, flagged: Problem): Promise<void> {
  const digest = /[0-9a-f]{64}/.exec(flagged.message)?.[0]
  if (!digest) throw flagged
  const spec = { ...writable(card.spec), reviewed: digest, state: 'published' }
  await ok(api.PUT('/api/v1/tenants/{tenant}/cards/{name}', {
    params: { path: { tenant, name: card.name }, header: { 'If-Match': card.revision } }, body: { spec } as never,
  }))
}
