// How the page is built: hashed assets with a compressed twin each, nothing inline, nothing from elsewhere.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

const admin = process.env.CHANCERY_ADMIN_URL ?? 'http://127.0.0.1:8101'

/** Writes `x.js.gz` beside `x.js`, so that the gateway compresses nothing while it serves. */
function compressed(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) compressed(path)
    else if (/\.(js|css|svg)$/.test(entry.name)) writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }))
  }
}

export default defineConfig({
  plugins: [react(), { name: 'compressed', writeBundle: ({ dir }) => compressed(dir ?? 'dist') }],
  // Scripts that are inline, or fetched by a preloader made at run time, would need a wider policy.
  build: { target: 'es2022', assetsInlineLimit: 0, modulePreload: { polyfill: false }, chunkSizeWarningLimit: 900, reportCompressedSize: false },
  server: { proxy: { '/api': { target: admin, changeOrigin: false } } },
  preview: { proxy: { '/api': { target: admin, changeOrigin: false } } },
  test: { environment: 'jsdom', include: ['src/**/*.test.ts', 'src/**/*.test.tsx'] },
})
