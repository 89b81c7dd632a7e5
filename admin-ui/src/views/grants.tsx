// Every grant of a tenant, and one of them: what it says, whom it reaches, what is used of its limits.

import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState, type ReactNode } from 'react'
import { queries } from '../api/queries'
import type { Grant } from '../api/shapes'
import { granteeOf, selects } from '../parts/access'
import { GranteeLink, GrantForm, GrantMarks, GrantTable, useRemoveGrant } from '../parts/grantform'
import { limitWords, UseOf } from '../parts/limits'
import { Page, Panel } from '../parts/pieces'
import { Empty, Waiting, Wrong } from '../parts/states'
import { Said } from '../parts/text'
import { When } from '../parts/time'
import { useMay } from '../session'
import { s } from '../strings'

export function Grants(): ReactNode {
  const { tenant } = useParams({ strict: false }) as { tenant: string }
  const grants = useQuery(queries.grants(tenant))
  const mayWrite = useMay(tenant, 'administer')
  const [edited, setEdited] = useState<Grant | 'new'>()
  return (
    <Page title={s.grants} lead={s.grantsLead} actions={<><Button component={Link} to={`/t/${tenant}/explain` as string} variant="default">{s.navExplain}</Button>{mayWrite && <Button onClick={() => setEdited('new')}>{s.newGrant}</Button>}</>}>
      <Wrong error={grants.error} retry={() => void grants.refetch()} />
      <Panel flush>
        {grants.isPending ? <Waiting rows={6} /> : grants.error ? null : (grants.data ?? []).length === 0 ? (
          <Empty title={s.noGrantsTitle} action={mayWrite && <Button onClick={() => setEdited('new')}>{s.newGrant}</Button>}>{s.noGrantsText}</Empty>
        ) : <GrantTable tenant={tenant} grants={grants.data ?? []} label={s.grants} mayWrite={mayWrite} searchable edit={setEdited} />}
      </Panel>
      {edited && <GrantForm tenant={tenant} grant={edited === 'new' ? undefined : edited} close={() => setEdited(undefined)} />}
    </Page>
  )
}

export function GrantView(): ReactNode {
  const { tenant, name } = useParams({ strict: false }) as { tenant: string; name: string }
  const navigate = useNavigate()
  const grant = useQuery(queries.grant(tenant, name))
  const mayWrite = useMay(tenant, 'administer')
  const remove = useRemoveGrant(tenant)
  const [editing, setEditing] = useState(false)
  return (
    <Page
      title={name}
      crumbs={<><Anchor component={Link} to={`/t/${tenant}/grants` as string} size="sm">{s.grants}</Anchor><span>/</span><span>{name}</span></>}
      actions={mayWrite && grant.data && (
        <>
          <Button variant="default" onClick={() => setEditing(true)}>{s.edit}</Button>
          <Button variant="default" onClick={() => void remove(grant.data).then((gone) => { if (gone) void navigate({ to: `/t/${tenant}/grants` }) })}>{s.remove}</Button>
        </>
      )}
    >
      <Wrong error={grant.error} retry={() => void grant.refetch()} />
      {grant.isPending && <Panel flush><Waiting rows={6} /></Panel>}
      {grant.data && <Facts grant={grant.data} tenant={tenant} />}
      {editing && grant.data && <GrantForm tenant={tenant} grant={grant.data} close={() => setEditing(false)} />}
    </Page>
  )
}

function Facts({ grant, tenant }: { grant: Grant; tenant: string }): ReactNode {
  const { spec } = grant
  return (
    <>
      <Group gap={10} mb={14}><GrantMarks spec={spec} /><Text size="sm" c="dimmed">{s.changed} <When at={grant.updated_at} style="ago" /></Text></Group>
      <div className="two">
        <Panel title={s.whatItSays}>
          <dl className="facts">
            <dt>{s.grantFor}</dt><dd><GranteeLink tenant={tenant} grant={grant} /></dd>
            <dt>{s.effect}</dt><dd>{spec.effect === 'deny' ? s.effectDeny : s.effectAllow}</dd>
            <dt>{s.mode}</dt><dd>{spec.mode === 'shadow' ? (spec.effect === 'deny' ? s.shadowDenyHint : s.shadowAllowHint) : s.modeEnforce}</dd>
            <dt>{s.navAgents}</dt><dd><Said>{(spec.cards ?? []).join(', ')}</Said></dd>
            <dt>{s.operations}</dt><dd>{(spec.operations ?? []).join(', ')}</dd>
            <dt>{s.callModes}</dt><dd>{(spec.modes ?? []).length === 0 ? s.modesBoth : spec.modes!.join(', ')}</dd>
            {spec.effect !== 'deny' && (
              <>
                <dt>{s.delegationDepth}</dt><dd>{spec.max_delegation_depth === undefined ? s.unlimited : spec.max_delegation_depth === 0 ? s.delegationNone : spec.max_delegation_depth}</dd>
                <dt>{s.delegationLoops}</dt><dd>{spec.delegation_loops ? s.yes : s.no}</dd>
                <dt>{s.limits}</dt><dd>{limitWords(spec.limits) || s.none}</dd>
              </>
            )}
          </dl>
        </Panel>
        <Stack gap={16}>
          {spec.effect !== 'deny' && <Panel title={s.usedNow}><UseOf tenant={tenant} kind="grant" name={grant.name} /></Panel>}
          <Reached grant={grant} tenant={tenant} />
        </Stack>
      </div>
    </>
  )
}

/** The agents that a grant selects, each with the way to what its principal may do there. */
function Reached({ grant, tenant }: { grant: Grant; tenant: string }): ReactNode {
  const cards = useQuery(queries.cards(tenant))
  const principals = useQuery(queries.principals(tenant))
  const who = granteeOf(grant)
  const member = who.kind === 'principal' ? who.name : principals.data?.find((one) => one.spec.groups?.includes(who.name))?.name
  const reached = (cards.data ?? []).filter((card) => selects(grant, card))
  return (
    <Panel title={s.reachesTitle}>
      <Wrong error={cards.error} />
      {cards.isPending ? <Waiting rows={3} /> : reached.length === 0 ? <Text size="sm" c="dimmed">{s.reachesNothing}</Text> : (
        <Stack gap={6}>
          {reached.slice(0, 50).map((card) => (
            <Group key={card.name} justify="space-between" gap={8} wrap="nowrap">
              <Anchor component={Link} to={`/t/${tenant}/agents/${card.name}` as string} size="sm">{card.name}</Anchor>
              {member && <Anchor component={Link} to={`/t/${tenant}/explain` as string} search={{ principal: member, card: card.name, ...(who.kind === 'group' ? { groups: who.name } : {}) } as never} size="xs" aria-label={`${s.explain} ${member}, ${card.name}`}>{s.explain}</Anchor>}
            </Group>
          ))}
          {reached.length > 50 && <Text size="xs" c="dimmed">{s.andMore(reached.length - 50)}</Text>}
        </Stack>
      )}
    </Panel>
  )
}
