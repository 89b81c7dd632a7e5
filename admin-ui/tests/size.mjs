// What a browser loads before it shows anything: at most 250 kB, compressed.
import { readdirSync, readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const LIMIT = 250 * 1000
const html = readFileSync('dist/index.html', 'utf8')
const first = readdirSync('dist/assets').filter((name) => name.endsWith('.js') && html.includes(name))
const size = first.reduce((sum, name) => sum + gzipSync(readFileSync(`dist/assets/${name}`), { level: 9 }).length, 0)
console.log(`main bundle: ${(size / 1000).toFixed(0)} kB compressed (at most ${LIMIT / 1000})`)
if (first.length === 0 || size > LIMIT) process.exit(1)
