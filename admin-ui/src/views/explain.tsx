// May this principal do that with this agent, and why: the gateway's own judgement, in words. The question is in the address.

import { Alert, Anchor, Button, Group, Select, Stack, TagsInput, Text } from '@mantine/core'
import { useQueries, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Schemas } from '../api/client'
import { queries } from '../api/queries'
import { OPERATIONS } from '../parts/access'
import { Mark } from '../parts/marks'
import { Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { When } from '../parts/time'
import { s } from '../strings'

type Answer = Schemas['Answer']
type Considered = Schemas['Considered']
type Consulted = Schemas['Consulted']
interface Question {
  principal: string
  card: string
  operation: string
  groups: string
}

export function Explain(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const { principal = '', card = '', operation = '', groups = '' } = useSearch({ strict: false }) as Partial<Question>
  const asked = { principal, card, operation, groups }
  const navigate = useNavigate()
  const principals = useQuery(queries.principals(tenant))
  const cards = useQuery(queries.cards(tenant))
  const ask = (part: Partial<Question>) => void navigate({ to: `/t/${tenant}/explain`, search: { ...asked, ...part } as never, replace: true })
  // A name in the address that is none (any more) is asked about all the same: the answer says so.
  const names = (all: { name: string }[] | undefined, chosen: string) => [...new Set([...(all ?? []).map((one) => one.name), ...(chosen ? [chosen] : [])])]
  return (
    <Page title={s.explainTitle} lead={s.explainLead} crumbs={<><Anchor component={Link} to={`/t/${tenant}/grants` as string} size="sm">{s.grants}</Anchor><span>/</span><span>{s.navExplain}</span></>}>
      <Stack gap={16}>
        <Wrong error={principals.error ?? cards.error} retry={() => { void principals.refetch(); void cards.refetch() }} />
        <Panel title={s.question}>
          <div className="ask">
            <Select label={s.principal} placeholder={s.choose} data={names(principals.data, principal)} value={principal || null} onChange={(value) => ask({ principal: value ?? '' })} searchable clearable clearButtonProps={{ 'aria-label': `${s.clear}: ${s.principal}` }} />
            <Select label={s.agent} placeholder={s.choose} data={names(cards.data, card)} value={card || null} onChange={(value) => ask({ card: value ?? '' })} searchable clearable clearButtonProps={{ 'aria-label': `${s.clear}: ${s.agent}` }} />
            <Select label={s.operation} allowDeselect={false} data={[{ value: '', label: s.everyOperation }, ...OPERATIONS.map((one) => ({ value: one as string, label: one as string }))]} value={operation} onChange={(value) => ask({ operation: value ?? '' })} />
            <TagsInput label={s.tokenGroups} placeholder={groups ? '' : s.tokenGroupsHint} value={groups ? groups.split(',') : []} onChange={(all) => ask({ groups: all.join(',') })} splitChars={[',']} acceptValueOnBlur />
          </div>
        </Panel>
        {!principal || !card ? <Panel><Empty title={s.askSomething}>{s.askSomethingText}</Empty></Panel>
          : operation ? <One tenant={tenant} asked={asked} /> : <Every tenant={tenant} asked={asked} choose={(one) => ask({ operation: one })} />}
      </Stack>
    </Page>
  )
}

/** Every operation at a glance. */
function Every({ tenant, asked, choose }: { tenant: string; asked: Question; choose: (operation: string) => void }): ReactNode {
  const answers = useQueries({ queries: OPERATIONS.map((operation) => queries.explain(tenant, { ...asked, operation })) })
  const failed = answers.find((one) => one.error)
  if (failed) return <Wrong error={failed.error} retry={() => answers.forEach((one) => void one.refetch())} />
  if (answers.some((one) => one.isPending)) return <Panel flush><Waiting rows={8} /></Panel>
  const first = answers[0]!.data as Answer
  if ((first.missing ?? []).length > 0) return <Missing tenant={tenant} asked={asked} answer={first} />
  return (
    <Stack gap={16}>
      <LeftOut answer={first} />
      <Panel title={s.everyOperation} flush>
        <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.everyOperation)}>
          <table className="grid">
            <thead><tr><th scope="col">{s.operation}</th><th scope="col">{s.answer}</th><th scope="col">{s.decidedBy}</th><th scope="col">{s.why}</th></tr></thead>
            <tbody>
              {OPERATIONS.map((operation, at) => {
                const answer = answers[at]!.data as Answer
                return (
                  <tr key={operation}>
                    <td><Button variant="subtle" size="compact-sm" px={0} onClick={() => choose(operation)}>{operation}</Button></td>
                    <td><Verdict answer={answer} /></td>
                    <td>{answer.decided_by ? <GrantLink tenant={tenant} name={answer.decided_by.grant} /> : <span className="muted">{s.none}</span>}</td>
                    <td><Said>{answer.reason}</Said>{answer.would_be_denied_by && <div className="muted">{s.wouldBeDenied(answer.would_be_denied_by.grant)}</div>}{answer.conditions?.verdict === 'would_deny' && <div className="muted"><ConditionsSay of={answer.conditions} /></div>}</td>
                  </tr>
                )
              })}
            </tbody>
          </table>
        </div>
      </Panel>
      <Text size="sm" c="dimmed">{first.card_is_visible ? s.cardVisible : s.cardHidden}</Text>
    </Stack>
  )
}

function One({ tenant, asked }: { tenant: string; asked: Question }): ReactNode {
  const answer = useQuery(queries.explain(tenant, asked))
  if (answer.error) return <Wrong error={answer.error} retry={() => void answer.refetch()} />
  if (!answer.data) return <Panel flush><Waiting rows={5} /></Panel>
  const said = answer.data
  if ((said.missing ?? []).length > 0) return <Missing tenant={tenant} asked={asked} answer={said} />
  return (
    <Stack gap={16}>
      <div className={`verdict ${said.allowed ? 'good' : 'bad'}`} role="status">
        <Group gap={10}><Verdict answer={said} /><Text fw={550}><Said>{said.reason}</Said></Text></Group>
        {said.would_be_denied_by && <Text size="sm" mt={6}>{s.wouldBeDenied(said.would_be_denied_by.grant)}</Text>}
        <Text size="sm" c="dimmed" mt={6}>{said.card_is_visible ? s.cardVisible : s.cardHidden}</Text>
      </div>
      <LeftOut answer={said} />
      {said.conditions && <ConditionsAsked tenant={tenant} of={said.conditions} />}
      <Panel title={s.considered} flush>
        {(said.considered ?? []).length === 0 ? (
          <Empty title={s.noGrantsTitle} action={<Button component={Link} to={`/t/${tenant}/principals/${asked.principal}` as string}>{asked.principal}</Button>}>{s.nothingConsidered}</Empty>
        ) : <ConsideredTable tenant={tenant} rows={said.considered ?? []} decided={said.decided_by?.grant} />}
      </Panel>
    </Stack>
  )
}

/** What the tenant's conditions say, in one sentence. */
function ConditionsSay({ of }: { of: Consulted }): ReactNode {
  const verdict = s.conditionsVerdicts[of.verdict as keyof typeof s.conditionsVerdicts] ?? of.verdict
  return <>{s.conditionsSay} {of.conditions} {verdict}{of.why && <> ({[of.why.replaceAll('_', ' '), (of.policies ?? []).join(', ')].filter(Boolean).join(': ')})</>}</>
}

/** The conditions' answer, and the call that they were asked about: what the question leaves open is assumed. */
function ConditionsAsked({ tenant, of }: { tenant: string; of: Consulted }): ReactNode {
  const { at, source, scheme, release, extensions, delegation_depth } = of.judged
  return (
    <Panel title={s.navConditions}>
      <Stack gap={6}>
        <Group gap={10}>
          {of.verdict === 'allows' ? <Mark tone="good">{s.yes}</Mark> : of.verdict === 'denies' ? <Mark tone="bad">{s.no}</Mark> : <Mark tone="warn">{s.shadowMark}</Mark>}
          <Text size="sm" fw={550}><ConditionsSay of={of} /></Text>
          <Anchor component={Link} to={`/t/${tenant}/conditions` as string} size="sm">{s.versionIs(of.version)}</Anchor>
        </Group>
        <Text size="sm" c="dimmed">{s.conditionsJudged} <When at={at} /> · {source} · {scheme}{release && <> · {s.version} <Said>{release}</Said></>}{extensions.length > 0 && <> · <Said>{extensions.join(', ')}</Said></>}{delegation_depth > 0 && <> · {s.depth} {delegation_depth}</>}</Text>
      </Stack>
    </Panel>
  )
}

function ConsideredTable({ tenant, rows, decided }: { tenant: string; rows: Considered[]; decided: string | undefined }): ReactNode {
  return (
    <div className="scroll-x" tabIndex={0} role="region" aria-label={s.tableOf(s.considered)}>
      <table className="grid">
        <thead><tr><th scope="col">{s.grant}</th><th scope="col">{s.effect}</th><th scope="col">{s.through}</th><th scope="col">{s.applies}</th><th scope="col">{s.why}</th></tr></thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.grant}>
              <td><GrantLink tenant={tenant} name={row.grant} />{row.grant === decided && <> <Mark tone="info">{s.decides}</Mark></>}</td>
              <td>{row.effect === 'deny' ? <Mark tone="bad">{s.denies}</Mark> : <Mark tone="good">{s.allows}</Mark>}{row.mode === 'shadow' && <> <Mark tone="warn">{s.shadowMark}</Mark></>}</td>
              <td>{row.group ? <>{s.groupWord} <Said>{row.group}</Said></> : s.itsOwn}</td>
              <td>{row.applies ? s.yes : s.no}</td>
              <td><Said>{row.because}</Said></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** What has to be there before grants are looked at. */
function Missing({ tenant, asked, answer }: { tenant: string; asked: Question; answer: Answer }): ReactNode {
  return (
    <Stack gap={16}>
      <div className="verdict bad" role="status">
        <Group gap={10}><Verdict answer={answer} /><Text fw={550}>{s.missingTitle}</Text></Group>
        {(answer.missing ?? []).map((one) => <Text key={one} size="sm" mt={6}><Said>{one}</Said></Text>)}
        <Group gap={16} mt={10}>
          <Anchor component={Link} to={`/t/${tenant}/principals/${asked.principal}` as string} size="sm">{s.principal} {asked.principal}</Anchor>
          <Anchor component={Link} to={`/t/${tenant}/agents/${asked.card}` as string} size="sm">{s.agent} {asked.card}</Anchor>
        </Group>
      </div>
      <LeftOut answer={answer} />
    </Stack>
  )
}

function LeftOut({ answer }: { answer: Answer }): ReactNode {
  if ((answer.left_out ?? []).length === 0) return null
  return <Alert color="orange" variant="light" title={<span style={{ color: 'var(--warn)' }}>{s.leftOut}</span>}><Text size="sm"><Said>{(answer.left_out ?? []).join(', ')}</Said></Text><Anchor component={Link} to={'/settings' as string} size="sm">{s.closedRows}</Anchor></Alert>
}

function Verdict({ answer }: { answer: Answer }): ReactNode {
  if (!answer.allowed) return <Mark tone="bad">{s.no}</Mark>
  return <><Mark tone="good">{s.yes}</Mark>{(answer.would_be_denied_by || answer.conditions?.verdict === 'would_deny') && <> <Mark tone="warn">{s.shadowMark}</Mark></>}</>
}

function GrantLink({ tenant, name }: { tenant: string; name: string }): ReactNode {
  return <Anchor component={Link} to={`/t/${tenant}/grants/${name}` as string} size="sm">{name}</Anchor>
}
