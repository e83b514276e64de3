"""Lends sandboxes: pools, leases, heartbeats, replacement of what died."""

from deskhand_sandbox.manager.lending import Lending as Lending
from deskhand_sandbox.manager.manager import SandboxManager as SandboxManager
from deskhand_sandbox.manager.records import Lease as Lease
from deskhand_sandbox.manager.records import LeaseTerms as LeaseTerms
from deskhand_sandbox.manager.records import ManagerStatus as ManagerStatus
from deskhand_sandbox.manager.records import PoolSettings as PoolSettings
