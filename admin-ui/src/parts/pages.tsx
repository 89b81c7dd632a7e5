// A list by server pages, of which a few are kept at a time however far one scrolls; and times in its search form.

import { Button, Group, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useRef, type ReactNode } from 'react'
import { s } from '../strings'

/** Rows of a page. */
export const PAGE = 100
/** Pages that are shown at a time; those before and after are read again when one scrolls there. */
const KEPT = 5
/** Where the first page begins. */
const FIRST = ''

/** The pages of what `read` gives after a cursor. */
export function usePages<T>(queryKey: unknown[], read: (cursor: string | undefined) => Promise<{ items: T[]; next_cursor?: string | null | undefined }>) {
  // Where each page begins, by the cursor of the next: the way back, and how far down one is.
  const trail = useRef(new Map<string, { before: string; number: number }>())
  const query = useInfiniteQuery({
    queryKey,
    initialPageParam: FIRST,
    queryFn: async ({ pageParam }) => {
      const page = await read(pageParam || undefined)
      const number = trail.current.get(pageParam)?.number ?? 0
      if (page.next_cursor) trail.current.set(page.next_cursor, { before: pageParam, number: number + 1 })
      return { ...page, number }
    },
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    getPreviousPageParam: (_page, _pages, at) => trail.current.get(at)?.before,
    maxPages: KEPT,
    refetchOnWindowFocus: false,
  })
  const pages = query.data?.pages ?? []
  return { query, items: pages.flatMap((page) => page.items), before: (pages[0]?.number ?? 0) * PAGE }
}

/** The rows, between the ways to the pages before and after them. */
export function Paged<T>({ pages, children }: { pages: ReturnType<typeof usePages<T>>; children: ReactNode }): ReactNode {
  const { query, items, before } = pages
  return (
    <>
      {query.hasPreviousPage && <Reach label={s.newer} busy={query.isFetchingPreviousPage} fetch={() => void query.fetchPreviousPage()} />}
      {children}
      {query.hasNextPage && <Reach label={s.more} busy={query.isFetchingNextPage} fetch={() => void query.fetchNextPage()} />}
      <Text size="xs" c="dimmed" p={12} role="status">{s.showingRows(before + 1, before + items.length)}{!query.hasNextPage && ` ${s.endOfRecords}`}</Text>
    </>
  )
}

/** The way to the next page: followed when it comes into sight, or when it is pressed. */
function Reach({ label, busy, fetch }: { label: string; busy: boolean; fetch: () => void }): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const latest = useRef(fetch)
  latest.current = fetch
  useEffect(() => {
    if (!place.current || busy) return
    const seen = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) latest.current()
    }, { rootMargin: '200px' })
    seen.observe(place.current)
    return () => seen.disconnect()
  }, [busy])
  return <Group ref={place} p={12} justify="center"><Button size="compact-sm" variant="default" loading={busy} onClick={fetch}>{label}</Button></Group>
}

/** A local time as `datetime-local` has it, and back. */
export const local = (iso: string | undefined) => (iso ? new Date(Date.parse(iso) - new Date(iso).getTimezoneOffset() * 60_000).toISOString().slice(0, 16) : '')
export const iso = (text: string) => (text ? new Date(text).toISOString() : '')
