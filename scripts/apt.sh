# For the scripts that set things up: packages of Debian and Ubuntu, where they may be installed.

install_with_apt() {
  local sudo=
  command -v apt-get >/dev/null || return 1
  [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo=sudo || return 1; }
  echo "setup: installing $* with apt-get" >&2
  $sudo apt-get update -qq >&2 && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq "$@" >&2
}
