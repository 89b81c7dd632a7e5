// What is watched: trees of calls, what shadow mode would have done, what is wrong with the gateway as a whole.

import { describe, expect, it } from 'vitest'
import type { Record_ } from '../api/shapes'
import { counts, type Shadow } from './shadows'
import { troubles } from './standing'
import { flat, trees } from './tree'

const record = (id: string, parent?: string) => ({ id: `w-${id}`, correlation_id: id, ...(parent ? { delegation: { parent } } : {}) }) as Record_
const shape = (records: Record_[]) => flat(trees(records)).map(({ record, depth }) => `${'-'.repeat(depth)}${record.correlation_id}`)

describe('a tree of calls', () => {
  it('has each call under the one that caused it, in the order they came', () => {
    expect(shape([record('a'), record('b', 'a'), record('c', 'b'), record('d', 'a')])).toEqual(['a', '-b', '--c', '-d'])
  })
  it('begins anew where the cause is not there', () => {
    expect(shape([record('x', 'gone'), record('y', 'x')])).toEqual(['x', '-y'])
  })
  it('ends, whatever ids callers chose', () => {
    expect(shape([record('a', 'b'), record('b', 'a')])).toEqual(['b', '-a'])
    expect(shape([record('a', 'a')])).toEqual(['a'])
    expect(shape([record('a'), record('a'), record('b', 'a')])).toEqual(['a', '-b'])
  })
})

describe('shadow mode', () => {
  const shadow = (part: Partial<Shadow>) => ({ kind: 'policy', name: 'strict', of: 4310, would_block: 0, would_change: 0, blocked: 0, ...part }) as Shadow
  it('says how many of how many, and which', () => {
    expect(counts(shadow({ would_block: 12 }), 100_000)).toEqual([{ text: 'would have blocked 12 of 4,310 calls', query: 'would_block_by=strict' }])
    expect(counts(shadow({ would_change: 1, blocked: 2 }), 100_000).map((one) => one.query)).toEqual(['would_change_by=strict', 'blocked_by=strict'])
    expect(counts(shadow({ kind: 'grant', name: 'maybe', would_block: 3 }), 100_000)).toEqual([{ text: 'would have denied 3 of 4,310 calls', query: 'would_deny_by=maybe' }])
    expect(counts(shadow({}), 100_000)).toEqual([])
  })
  it('owns up to where counting stopped', () => {
    expect(counts(shadow({ would_block: 100, of: 100 }), 100)[0]?.text).toBe('would have blocked at least 100 of at least 100 calls')
  })
})

describe('the state of the gateway', () => {
  const audit = { state: 'ready', spool_bytes: 30, spool_max_bytes: 100, high: false, store_failures: 0, lost: 0, unrecorded: 0, rejected: 0 }
  it('is not told where all is well', () => expect(troubles({ store: 'writable', audit })).toEqual([]))
  it('names what is wrong and what to do', () => {
    const titles = (store: 'read_only' | 'writable', part: Partial<typeof audit>) => troubles({ store, audit: { ...audit, ...part } }).map((one) => one.title)
    expect(titles('read_only', {})).toEqual(['The database takes no writes'])
    expect(titles('read_only', { store_failures: 3 })).toHaveLength(2)
    expect(titles('writable', { state: 'full' })).toEqual(['The audit spool is full'])
    expect(titles('writable', { state: 'failing' })).toEqual(['Records can’t be written to disk'])
    expect(titles('writable', { high: true })).toEqual(['The audit spool is nearly full'])
    expect(troubles({ store: 'writable', audit: { ...audit, store_failures: 3 } })[0]?.text).toContain('3 tries failed; 30 %')
    expect(titles('writable', { rejected: 1, lost: 2 })).toEqual(['1 records were refused by the database', '2 exchanges have no complete record'])
  })
})
