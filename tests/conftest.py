"""What all tests share."""

import asyncio

from hypothesis import settings

# No loop is open before the first test that asks for one; one that nobody closes would be told as a fault.
asyncio.set_event_loop(None)

# A busy machine is no fault; what else holds here or in CI stays as it is.
settings.register_profile("patient", parent=settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.load_profile("patient")
