// The live feed: exchanges as they end, held in a bounded list and shown in batches, so that a busy gateway does not
// make a busy page.

import { useEffect, useRef, useState } from 'react'
import type { Schemas } from './client'

export type LiveExchange = Schemas['LiveExchange']
/** A stream that is open. */
export interface LiveStream {
  correlation_id: string
  tenant: string
  opened_at: string
  principal?: string | null
  card?: string | null
  operation?: string | null
}

/** What is open now, told every few seconds. */
export interface LiveOpen {
  streams: LiveStream[]
  count: number
  /** Of all tenants, and only told to those with a role in all. */
  in_flight?: number
  audit?: Schemas['AuditState']
}

export interface LiveFilter {
  tenant: string
  card?: string | undefined
  principal?: string | undefined
  outcome?: string | undefined
  finding?: string | undefined
}

export interface Feed {
  items: LiveExchange[]
  open: LiveOpen | undefined
  /** How many the gateway left out because this page was too slow. */
  dropped: number
  /** How many came while the feed was paused. */
  waiting: number
  state: 'connecting' | 'live' | 'broken'
}

export const KEPT = 200
const BATCH_MS = 250

/** The newest first, at most `KEPT`, each exchange once. */
export function merged(news: LiveExchange[], items: LiveExchange[]): LiveExchange[] {
  const seen = new Set<string>()
  const all: LiveExchange[] = []
  for (const item of [...news, ...items]) {
    if (seen.has(item.correlation_id)) continue
    seen.add(item.correlation_id)
    all.push(item)
    if (all.length === KEPT) break
  }
  return all
}

export function liveUrl(filter: LiveFilter): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(filter)) if (value) query.set(name, value)
  return `/api/v1/live?${query.toString()}`
}

export function useLive(filter: LiveFilter, paused: boolean): Feed {
  const [feed, setFeed] = useState<Feed>({ items: [], open: undefined, dropped: 0, waiting: 0, state: 'connecting' })
  const news = useRef<LiveExchange[]>([])
  const pause = useRef(paused)
  pause.current = paused
  const url = liveUrl(filter)

  useEffect(() => {
    setFeed({ items: [], open: undefined, dropped: 0, waiting: 0, state: 'connecting' })
    news.current = []
    const source = new EventSource(url)
    source.onopen = () => setFeed((feed) => ({ ...feed, state: 'live' }))
    source.onerror = () => setFeed((feed) => ({ ...feed, state: 'broken' }))
    source.addEventListener('exchange', (event) => {
      news.current.unshift(JSON.parse(event.data) as LiveExchange)
      if (news.current.length > KEPT) news.current.length = KEPT
    })
    source.addEventListener('dropped', (event) => {
      const { count } = JSON.parse(event.data) as { count: number }
      setFeed((feed) => ({ ...feed, dropped: feed.dropped + count }))
    })
    source.addEventListener('now', (event) => {
      const open = JSON.parse(event.data) as LiveOpen
      setFeed((feed) => ({ ...feed, open, state: 'live' }))
    })
    const timer = setInterval(() => {
      if (news.current.length === 0) return
      if (pause.current) {
        setFeed((feed) => (feed.waiting === news.current.length ? feed : { ...feed, waiting: news.current.length }))
        return
      }
      const batch = news.current
      news.current = []
      setFeed((feed) => ({ ...feed, items: merged(batch, feed.items), waiting: 0 }))
    }, BATCH_MS)
    return () => {
      source.close()
      clearInterval(timer)
    }
  }, [url])

  return feed
}
