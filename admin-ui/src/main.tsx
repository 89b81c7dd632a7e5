// Where the page begins.

import '@mantine/core/styles.css'
import './styles.css'
import { MantineProvider } from '@mantine/core'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode, type ReactNode } from 'react'
import { createRoot } from 'react-dom/client'
import { Problem } from './api/client'
import { Waiting, Wrong } from './parts/states'
import { Toasts } from './parts/toast'
import { router } from './router'
import { SessionProvider, useSession } from './session'
import { theme, variables } from './theme'
import { Setup, SignIn } from './views/signin'

const client = new QueryClient({
  defaultOptions: {
    queries: { staleTime: 5_000, retry: (count, error) => count < 2 && !(error instanceof Problem && error.status > 0 && error.status < 500), refetchOnWindowFocus: true },
  },
})

function Entrance(): ReactNode {
  const session = useSession()
  if (session.isPending) return <div className="page"><Waiting rows={6} /></div>
  if (session.isError) return <div className="page"><Wrong error={session.error} retry={() => void session.refetch()} /></div>
  if (!session.data) return window.location.pathname === '/setup' ? <Setup /> : <SignIn />
  return <SessionProvider me={session.data}><RouterProvider router={router} /></SessionProvider>
}

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={variables} defaultColorScheme="auto">
      <QueryClientProvider client={client}>
        <Toasts><Entrance /></Toasts>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
