#!/usr/bin/env bash
# Sets up everything `make run` and `make test` need, and says what it installs. Idempotent: a second run takes
# seconds. Needs git, make, python3.11+, node 20.19+ or 22.12+ and, for missing system packages, root or sudo.
#
#   infra/setup.sh            install what is missing
#   DESKHAND_PYTHON=python3.12 infra/setup.sh    choose the interpreter
set -euo pipefail
cd -P "$(dirname "$0")/.."

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

# One set-up at a time: two `make` commands at once must not install over each other.
mkdir -p .deskhand
exec 9>.deskhand/setup.lock
flock -n 9 || { say "another set-up is running; waiting for it"; flock 9; }

apt_packages=(
  chromium-headless-shell fonts-liberation fonts-dejavu-core
  bubblewrap less procps vim-tiny
  xvfb openbox xterm xclip wmctrl x11vnc slirp4netns
  dbus-daemon at-spi2-core python3-gi gir1.2-atspi-2.0
  mousepad galculator gnumeric chromium
  adb mksh toybox
  libvirt-daemon libvirt-daemon-driver-qemu libvirt-dev qemu-system-x86 qemu-utils mmdebstrap uidmap pkgconf gcc g++ libc6-dev e2fsprogs
  postgresql
)

install_system_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  command -v apt-get >/dev/null || fail "please install: ${missing[*]} (this script knows apt only)"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "please run as root once: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing system packages: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# libvirt asks for these as root even where it runs without a daemon; Debian adds them with the package of the daemon
add_libvirt_user() {
  [ "$(id -u)" -ne 0 ] || id libvirt-qemu >/dev/null 2>&1 && return
  groupadd -rf kvm
  groupadd -rf libvirt
  useradd -r -U -G kvm -d /var/lib/libvirt -s /usr/sbin/nologin libvirt-qemu
}

find_python() {
  local candidate
  for candidate in ${DESKHAND_PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  fail "Python 3.11 or newer is needed${DESKHAND_PYTHON:+ and $DESKHAND_PYTHON is none}; set DESKHAND_PYTHON to its name"
}

# PYTHON PART CODE: Debian keeps parts of its Python in packages of their own; CODE fails where the part is missing
install_python_part() {
  local python=$1 part=$2 code=$3
  "$python" -c "$code" 2>/dev/null && return
  python=$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))')
  dpkg-query -S "$python" >/dev/null 2>&1 ||
    fail "$python lacks what Debian has in python3-$part (\`$code\` fails); install it, or set DESKHAND_PYTHON to another"
  install_system_packages "$(basename "$python")-$part"
}

version_of() { "$1" -c 'import sys; print(sys.version_info[:2])' 2>/dev/null; }

# PYTHON: whether .venv is of its version, and was made here: a copy's programs name the place of the first
venv_fits() {
  grep -qsF "$PWD/.venv/" .venv/bin/pip && [ "$(version_of .venv/bin/python)" = "$(version_of "$1")" ]
}

# whether what is imported is this folder's
imported_from_here() {
  local code='from importlib.util import find_spec; print(find_spec("deskhand_platform").origin)'
  [ "$(.venv/bin/python -I -c "$code" 2>/dev/null)" = "$PWD/platform/deskhand_platform/__init__.py" ]
}

install_python_packages() {
  local stamp=.venv/.deskhand-setup python=.venv/bin/python wanted
  [ -z "${DESKHAND_PYTHON:-}" ] || python=$(find_python)
  wanted=$(cat pyproject.toml infra/constraints.txt | sha256sum)
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ] && venv_fits "$python" && imported_from_here && return
  { venv_fits "$python" && .venv/bin/python -m pip --version >/dev/null 2>&1; } || {
    python=$(find_python)
    install_python_part "$python" venv 'from ensurepip import version'
    say "creating .venv with $($python --version)"
    rm -rf .venv
    "$python" -m venv .venv
  }
  # libvirt-python is compiled
  install_python_part .venv/bin/python dev 'import sysconfig; open(sysconfig.get_path("include") + "/Python.h")'
  # errors alone: warnings about how this machine's pip is configured would hide what is said here
  local pip=(.venv/bin/python -m pip install --quiet --quiet --disable-pip-version-check --no-compile)
  # torch first and alone: asked for by anything else it brings several gigabytes of CUDA along
  .venv/bin/python -c 'import torch' 2>/dev/null || { say "installing torch 2.13.0"; "${pip[@]}" torch==2.13.0; }
  .venv/bin/python -c 'import importlib.metadata as m; m.version("torchvision")' 2>/dev/null || {
    say "installing torchvision 0.28.0 (its image transforms only)"
    "${pip[@]}" --no-deps torchvision==0.28.0
  }
  say "installing deskhand with all extras into .venv"
  "${pip[@]}" -c infra/constraints.txt -e '.[dev]'
  # on every core, where pip takes one; what packages bring for other Pythons does not compile
  .venv/bin/python -m compileall -qq -j 0 .venv/lib || true
  printf '%s' "$wanted" >"$stamp"
}

page_stamp=platform/deskhand_platform/static/.built-from

page_sources() { git ls-files -co --exclude-standard web_ui | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum; }

page_is_built() {
  [ -f "$page_stamp" ] && [ "$(cat "$page_stamp")" = "$(page_sources)" ] && [ -d web_ui/node_modules ]
}

# for what Vite runs with
require_node() {
  local version major minor release needed="node 20.19 or newer (of 22: 22.12) with npm is needed to build the web page"
  version=$(node --version 2>/dev/null) || fail "$needed; get it at https://nodejs.org/en/download"
  IFS=. read -r major minor _ <<<"${version#v}"
  release=$((major * 100 + minor))
  [ $release -ge 2212 ] || { [ $release -ge 2019 ] && [ "$major" -eq 20 ]; } ||
    fail "$needed, and this is $version; get a newer one at https://nodejs.org/en/download"
  command -v npm >/dev/null || fail "$needed, and there is no npm beside node $version; install npm"
}

build_web_page() {
  local wanted said
  wanted=$(page_sources)
  say "installing and building the web page (npm)"
  rm -f "$page_stamp" # killed in the middle it is not done
  # the compiler tells its errors where other programs tell their progress
  said=$(cd web_ui && { npm ci --loglevel=error --no-fund --no-audit && npm run --silent build; } 2>&1) ||
    { printf '%s\n' "$said" >&2; exit 1; }
  printf '%s' "$wanted" >"$page_stamp"
}

page_is_built || require_node
install_system_packages "${apt_packages[@]}"
add_libvirt_user
# beside each other, as neither needs the other; in a group of its own, so that all of it ends with this script
set -m
{ page_is_built || build_web_page; } &
web_page=$!
set +m
trap 'kill -KILL -- "-$web_page" 2>/dev/null || true' EXIT # npm takes half a minute to heed less
install_python_packages
wait "$web_page" || fail "the web page could not be built, see above"
trap - EXIT
