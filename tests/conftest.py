"""What all tests share."""

import asyncio

# No loop is open before the first test that asks for one; one that nobody closes would be told as a fault.
asyncio.set_event_loop(None)
