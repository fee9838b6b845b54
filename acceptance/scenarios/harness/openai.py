"""The scripted model API is what the official client of OpenAI expects."""
# needs: python openai

import os

import openai

URL = os.environ["PROVIDER_URL"]


def client(path):
    return openai.OpenAI(base_url=URL + path, api_key="sk-harness-openai", max_retries=0)


messages = [{"role": "user", "content": "What time is it?"}]
for stream in [False, True]:
    scripted = client("/script/hello/v1").chat.completions
    if stream:
        pieces = [it.choices[0].delta for it in scripted.create(model="m", messages=messages, stream=True) if it.choices]
        calls = [call for it in pieces for call in it.tool_calls or []]
        name, arguments = calls[0].function.name, "".join(it.function.arguments for it in calls)
    else:
        call = scripted.create(model="m", messages=messages).choices[0].message.tool_calls[0]
        name, arguments = call.function.name, call.function.arguments
    assert (name, arguments) == ("get_current_time", "{}"), (name, arguments)

assert client("/v1").chat.completions.create(model="m", messages=messages).choices[0].message.content == (
    "You said: What time is it?"
)
failures = [("/401/v1", openai.AuthenticationError), ("/404/v1", openai.NotFoundError)]
failures += [("/429/v1", openai.RateLimitError), ("/500/v1", openai.InternalServerError)]
for path, error in failures:
    try:
        client(path).chat.completions.create(model="m", messages=messages)
        raise AssertionError(path)
    except error:
        pass
