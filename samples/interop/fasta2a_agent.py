"""fasta2a behind a gateway: an echo, without a model. Takes its port."""

import sys
import uuid
from contextlib import asynccontextmanager

import uvicorn
from fasta2a import FastA2A, Worker
from fasta2a.broker import InMemoryBroker
from fasta2a.storage import InMemoryStorage

PORT = int(sys.argv[1])


class Echo(Worker):
    async def run_task(self, params):
        task = await self.storage.load_task(params["id"])
        await self.storage.update_task(task["id"], state="working")
        artifact = {"artifact_id": str(uuid.uuid4()), "name": "echo", "parts": params["message"]["parts"]}
        await self.publish_artifact(task["id"], task["context_id"], artifact)
        await self.storage.update_task(task["id"], state="completed", new_artifacts=[artifact])

    async def cancel_task(self, params):
        await self.storage.update_task(params["id"], state="canceled")

    def build_message_history(self, history):
        return history

    def build_artifacts(self, result):
        return []


storage, broker = InMemoryStorage(), InMemoryBroker()


@asynccontextmanager
async def lifespan(app):
    async with app.task_manager, Echo(broker=broker, storage=storage).run():
        yield


app = FastA2A(storage=storage, broker=broker, name="fasta2a", url=f"http://127.0.0.1:{PORT}", lifespan=lifespan)
uvicorn.run(app, host="127.0.0.1", port=PORT, log_level="warning")
