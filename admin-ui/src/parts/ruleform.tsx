// The rules of a policy as a form. Rules are rows that open: a policy may have a hundred, and each open one has a dozen controls.

import { Button, CloseButton, Group, NumberInput, Select, Stack, Switch, TagsInput, Text, Textarea, TextInput } from '@mantine/core'
import { memo, useState, type ReactNode } from 'react'
import type { Detector, PolicySpec } from '../api/shapes'
import { s } from '../strings'
import { ACTIONS, actionsOf, KINDS, MANY_WORDS, OPEN_AT_ONCE, ruleText, without } from './rules'
import { Said } from './text'

/** The parts of a policy that most people change; the source has all of it, and keeps what this does not know. */
export function RuleForm({ spec, set, readOnly }: { spec: PolicySpec; set: (spec: PolicySpec) => void; readOnly: boolean }): ReactNode {
  const rules = Array.isArray(spec.detectors) ? spec.detectors : []
  const [open, setOpen] = useState(() => new Set(rules.length <= OPEN_AT_ONCE ? rules.keys() : []))
  const [filter, setFilter] = useState('')
  const toggle = (at: number) => setOpen((now) => (now.has(at) ? new Set([...now].filter((one) => one !== at)) : new Set([...now, at])))
  const put = (at: number, rule: Detector) => set({ ...spec, detectors: rules.map((one, index) => (index === at ? rule : one)) })
  const remove = (at: number) => {
    setOpen((now) => without(now, at))
    set({ ...spec, detectors: rules.filter((_, index) => index !== at) })
  }
  const add = () => {
    setFilter('')
    setOpen((now) => new Set([...now, rules.length]))
    set({ ...spec, detectors: [...rules, { id: 'words', name: 'phrases', words: [], action: 'block' }] })
  }
  const shown = rules.flatMap((rule, at) => (filter === '' || ruleText(rule).includes(filter.toLowerCase()) ? [at] : []))
  return (
    <fieldset disabled={readOnly} style={{ border: 0, padding: 0, margin: 0, minWidth: 0 }}>
      <Stack gap={12}>
        <Switch
          label={s.enforceLabel} description={s.enforceHint} checked={(spec.mode ?? 'enforce') === 'enforce'}
          onChange={(event) => set({ ...spec, mode: event.currentTarget.checked ? 'enforce' : 'shadow' })}
        />
        {rules.length > OPEN_AT_ONCE && (
          <Group gap={10}>
            <TextInput size="xs" w={220} aria-label={s.filterRules} placeholder={s.filterRules} value={filter} onChange={(event) => setFilter(event.currentTarget.value)} />
            <Text size="xs" c="dimmed">{s.shownOf(shown.length, rules.length)}</Text>
          </Group>
        )}
        <div className={rules.length > OPEN_AT_ONCE ? 'rule-list' : undefined} {...(rules.length > OPEN_AT_ONCE ? { tabIndex: 0, role: 'region', 'aria-label': s.tableOf(s.rules) } : {})}>
          <Stack gap={8}>
            {shown.map((at) => (open.has(at)
              ? <OpenRule key={at} rule={rules[at]!} at={at} put={put} remove={remove} close={rules.length > OPEN_AT_ONCE ? () => toggle(at) : undefined} />
              : <ClosedRule key={at} rule={rules[at]!} at={at} open={toggle} />))}
          </Stack>
        </div>
        <Group><Button variant="default" onClick={add}>{s.addRule}</Button></Group>
      </Stack>
    </fieldset>
  )
}

const ClosedRule = memo(function ClosedRule({ rule, at, open }: { rule: Detector; at: number; open: (at: number) => void }): ReactNode {
  return (
    <button type="button" className="rule" aria-expanded="false" onClick={() => open(at)}>
      <span className="num muted">{at + 1}</span>
      <span className="rule-name"><Said>{String(rule.name ?? rule.id)}</Said></span>
      <span className="muted">{rule.name ? String(rule.id) : ''}{Array.isArray(rule.words) ? ` · ${s.phrasesCount(rule.words.length)}` : ''}</span>
      <span>{String(rule.action ?? '')}</span>
    </button>
  )
})

function OpenRule({ rule, at, put, remove, close }: {
  rule: Detector
  at: number
  put: (at: number, rule: Detector) => void
  remove: (at: number) => void
  close: (() => void) | undefined
}): ReactNode {
  const words = Array.isArray(rule.words) ? rule.words : []
  return (
    <div className="panel" style={{ padding: 12 }} role="group" aria-label={s.ruleNumber(at + 1)}>
      {close && <Button size="compact-xs" variant="subtle" px={0} mb={6} aria-expanded="true" onClick={close}>{s.ruleNumber(at + 1)}: {s.fold}</Button>}
      <Group gap={8} align="end" wrap="nowrap">
        <Select label={s.detector} w={130} miw={84} allowDeselect={false} data={[...new Set([...KINDS, rule.id])]} value={rule.id} onChange={(id) => put(at, { id: id ?? rule.id, action: rule.action ?? 'block', ...(rule.name ? { name: rule.name } : {}), ...(id === 'words' ? { words: [] } : {}) })} />
        <Select label={s.action} w={112} miw={84} allowDeselect={false} data={actionsOf(rule.id, ACTIONS)} value={rule.action ?? null} onChange={(action) => put(at, { ...rule, action: action ?? 'block' })} />
        <TextInput label={s.ruleName} style={{ flex: 1, minWidth: 60 }} placeholder={rule.id} value={rule.name ?? ''} onChange={(event) => { const next: Detector = { ...rule, name: event.currentTarget.value }; if (!next.name) delete next.name; put(at, next) }} />
        <CloseButton size="lg" onClick={() => remove(at)} aria-label={s.removeRule(rule.name ?? rule.id)} />
      </Group>
      {rule.id === 'words' && (words.length <= MANY_WORDS
        ? <TagsInput mt={8} label={s.phrases} description={s.phrasesHint} value={words} onChange={(next) => put(at, { ...rule, words: next })} />
        : <Textarea mt={8} label={s.phrases} description={s.phrasesLines} value={words.join('\n')} minRows={6} maxRows={14} autosize onChange={(event) => put(at, { ...rule, words: event.currentTarget.value.split('\n') })} />)}
      {rule.id === 'pattern' && <TextInput mt={8} label={s.pattern} value={rule.pattern ?? ''} onChange={(event) => put(at, { ...rule, pattern: event.currentTarget.value })} styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }} />}
      {rule.id === 'injection' && <NumberInput mt={8} label={s.threshold} description={s.thresholdHint} min={1} max={100} value={rule.threshold ?? ''} onChange={(value) => { const next = { ...rule }; if (value === '') delete next.threshold; else next.threshold = Number(value); put(at, next) }} />}
    </div>
  )
}
