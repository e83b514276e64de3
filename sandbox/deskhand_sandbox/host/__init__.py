"""Sandboxes in a process of their own: start a host, lease from it."""

from deskhand_sandbox.host.client import RemoteSandbox as RemoteSandbox
from deskhand_sandbox.host.client import SandboxClient as SandboxClient
from deskhand_sandbox.host.client import Screen as Screen
from deskhand_sandbox.host.process import HostProcess as HostProcess
from deskhand_sandbox.host.process import start_host as start_host
from deskhand_sandbox.host.settings import HostSettings as HostSettings
