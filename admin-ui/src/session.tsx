// Who is signed in, and what it may do here. The API decides; the page only spares people what would be refused.

import { useQuery, useQueryClient } from '@tanstack/react-query'
import { createContext, useContext, useEffect, type ReactNode } from 'react'
import { api, ok, Problem, SIGNED_OUT, trust, type Me } from './api/client'

const Session = createContext<Me | null>(null)

export type Act = 'read' | 'operate' | 'administer'

const MAY: Record<string, Act[]> = {
  platform_admin: ['read', 'operate', 'administer'],
  tenant_admin: ['read', 'operate', 'administer'],
  operator: ['read', 'operate'],
  auditor: ['read'],
}

export function may(me: Me | null, tenant: string, act: Act): boolean {
  return (me?.roles ?? []).some((one) => (one.tenant === '*' || one.tenant === tenant) && (MAY[one.role] ?? []).includes(act))
}

export function isPlatform(me: Me | null): boolean {
  return (me?.roles ?? []).some((one) => one.role === 'platform_admin')
}

export function isManager(me: Me | null): boolean {
  return (me?.roles ?? []).some((one) => one.role === 'platform_admin' || one.role === 'tenant_admin')
}

export function useMe(): Me | null {
  return useContext(Session)
}

export function useMay(tenant: string, act: Act): boolean {
  return may(useMe(), tenant, act)
}

async function whoAmI(): Promise<Me | null> {
  try {
    // Asked first what anybody may ask, so that a page without a session is refused nothing.
    const { signed_in } = await ok(api.GET('/api/v1/setup'))
    return signed_in ? await ok(api.GET('/api/v1/me')) : null
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return null
    throw error
  }
}

export function useSession() {
  return useQuery({ queryKey: ['me'], queryFn: whoAmI, staleTime: 60_000, retry: 1 })
}

export function SessionProvider({ me, children }: { me: Me; children: ReactNode }): ReactNode {
  const client = useQueryClient()
  trust(me)
  useEffect(() => {
    const out = () => {
      trust(null)
      client.setQueryData(['me'], null)
    }
    window.addEventListener(SIGNED_OUT, out)
    return () => window.removeEventListener(SIGNED_OUT, out)
  }, [client])
  return <Session.Provider value={me}>{children}</Session.Provider>
}
