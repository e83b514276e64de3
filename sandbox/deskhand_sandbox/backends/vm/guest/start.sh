#!/bin/sh
# Brings the guest up: devices, screen, session, agent. When it ends, the guest ends.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
say() { echo "deskhand: $*" >/dev/console; }
exec >/run.log 2>&1 </dev/null

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs -o mode=755 run /run
mkdir -p /dev/pts /dev/shm /run/user/1000 /run/dbus /tmp/.X11-unix /tmp/.ICE-unix
mount -t devpts -o gid=5,mode=620,ptmxmode=666 devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
chown 1000:1000 /run/user/1000
chmod 700 /run/user/1000
chmod 1777 /tmp /tmp/.X11-unix /tmp/.ICE-unix
chmod 666 /dev/null /dev/zero /dev/random /dev/urandom /dev/tty /dev/ptmx
ln -sf /proc/self/fd /dev/fd
hostname desk
ip link set lo up
modprobe -a bochs virtio_input evdev virtio_console virtio_net virtio_rng

# the screen: its size comes from the host, its keyboard and pointer are the host's
size=$(sed -n 's/.*deskhand.size=\([0-9]*x[0-9]*\).*/\1/p' /proc/cmdline)
width=${size%x*} height=${size#*x}
# a screen without a tube takes any timing: 160 columns and 30 rows of nothing, 60 times a second
clock=$(awk "BEGIN { print ($width + 160) * ($height + 30) * 60 / 1000000 }")
modeline="$clock $width $((width + 48)) $((width + 80)) $((width + 160))"
modeline="$modeline $height $((height + 3)) $((height + 8)) $((height + 30))"
event() { awk -v name="$1" '$0 ~ "Name=\"" name { found = 1 } found && /Handlers=/ { match($0, /event[0-9]+/); print substr($0, RSTART, RLENGTH); exit }' /proc/bus/input/devices; }
tries=0
until [ -n "$(event 'QEMU Virtio Tablet')" ] && [ -n "$(event 'QEMU Virtio Keyboard')" ] && [ -e /dev/dri/card0 ] || [ $tries -ge 500 ]; do
  sleep 0.02
  tries=$((tries + 1))
done
sed -e "s/@MODELINE@/\"$size\" $modeline/" -e "s/@SIZE@/$size/" \
  -e "s/@KEYBOARD@/$(event 'QEMU Virtio Keyboard')/" -e "s/@TABLET@/$(event 'QEMU Virtio Tablet')/" \
  /opt/deskhand/xorg.conf >/run/xorg.conf
say "starting the screen"
Xorg :0 vt1 -config /run/xorg.conf -nolisten tcp -noreset -ac -novtswitch -s 0 -dpms -logfile /run/Xorg.log &

agent() { setpriv --reuid=1000 --regid=1000 --clear-groups --reset-env env LANG=C.UTF-8 DISPLAY=:0 GSETTINGS_BACKEND=memory \
  XDG_RUNTIME_DIR=/run/user/1000 DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus "$@"; }
cd /home/agent || exit
agent dbus-daemon --session --address=unix:path=/run/user/1000/bus --nofork --nopidfile &
tries=0
until [ -S /tmp/.X11-unix/X0 ] || [ $tries -ge 3000 ]; do
  sleep 0.02
  tries=$((tries + 1))
done
say "starting the session"
agent openbox --sm-disable &
agent /usr/libexec/at-spi-bus-launcher --launch-immediately &
say "starting the agent"
python3 /opt/deskhand/agent.py >/dev/console 2>&1
say "the agent has ended"
tail -n 20 /run/Xorg.log /run.log >/dev/console
