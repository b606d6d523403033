"""A memory system as a service. Start it: uvicorn wrapper_service:app --port 8080"""

import re

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, Field

app = FastAPI()
store = {}  # (user, belief id) -> Memory. Your system goes here, and into add() and search().


class Memory(BaseModel):
    text: str
    user_id: str
    metadata: dict


class Question(BaseModel):
    query: str
    user_id: str
    limit: int = Field(20, ge=0)
    scope: str | list[str] | None = None


@app.delete("/reset")
def reset():
    store.clear()


@app.post("/add")
def add(memory: Memory):
    store[memory.user_id, memory.metadata["beliefId"]] = memory


@app.put("/update")
def update(memory: Memory):
    if (memory.user_id, memory.metadata["beliefId"]) not in store:
        raise HTTPException(404, "no such memory")
    add(memory)


@app.post("/search")
def search(question: Question):
    asked, scopes = words(question.query), as_set(question.scope)
    results = []
    for (user_id, belief_id), memory in list(store.items()):
        score = len(asked & words(memory.text)) / max(len(asked), 1)
        in_scope = not scopes or scopes & as_set(memory.metadata.get("scope"))
        if user_id == question.user_id and in_scope and score >= 0.5:  # rather nothing than noise
            results.append({"id": belief_id, "memory": memory.text, "score": score})
    return {"results": sorted(results, key=lambda row: -row["score"])[: question.limit]}


def words(text):
    return set(re.findall(r"\w+", text.lower()))


def as_set(scope):
    return {scope} if isinstance(scope, str) else set(scope or ())
