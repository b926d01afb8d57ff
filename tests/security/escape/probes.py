"""Small programs that try to get out. Each says `got(...)` if it could do what the sandbox must prevent.

They run in escape/runner.py, one process each, in the sandbox and, as the control that they are not merely broken,
outside of them. Rule: outside, a probe does no harm. It opens for writing and writes nothing, makes files without a
name, mounts in a namespace of its own, and aims only at what the driver has planted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Control: TypeAlias = Literal["all", "root", "none"]


@dataclass(frozen=True, slots=True)
class Probe:
    name: str
    code: str
    control: Control = "all"
    """Who can do this outside the sandbox: every user, only root, or not tried because it would do harm."""


FILES = (
    Probe("read_a_secret_in_a_home", "got(open(P['secret']).read())"),
    Probe("list_a_home", "got(os.listdir(P['home']))"),
    Probe("read_another_workspace", "got(open(P['other'] + '/file').read())"),
    Probe("write_into_another_workspace", "got(open(P['other'] + '/made', 'w'))"),
    Probe("read_the_database", "got(open(P['database'], 'rb').read())"),
    Probe("open_the_database_for_writing", "got(open(P['database'], 'r+b'))"),
    Probe("read_the_main_git_config", "got(open(P['git'] + '/config').read())"),
    Probe("plant_a_hook_in_the_main_git", "got(open(P['git'] + '/hooks/post-checkout', 'w'))"),
    Probe("read_an_untracked_file_of_the_project", "got(open(P['project'] + '/.env').read())"),
    Probe("follow_a_link_to_a_secret", "os.symlink(P['secret'], 'link'); got(open('link').read())"),
    Probe("hard_link_a_secret", "os.link(P['secret'], 'hard'); got('linked')"),
    Probe("climb_by_dots", "got(open('../' * 40 + P['secret']).read())"),
    Probe("go_by_proc_self_root", "got(open('/proc/self/root' + P['secret']).read())"),
    Probe("go_by_proc_self_cwd", "got(open('/proc/self/cwd/' + '../' * 40 + P['secret']).read())"),
    Probe("go_by_the_root_of_pid_1", "got(open('/proc/1/root' + P['secret']).read())", "none"),
    Probe(
        "go_by_the_root_of_any_process",
        "for pid in pids():\n"
        "    try: got(open(f'/proc/{pid}/root' + P['secret']).read())\n"
        "    except OSError: pass",
    ),
    Probe("read_the_shadow_file", "got(open('/etc/shadow').read())", "root"),
    Probe("see_the_logs_of_the_system", "got(os.listdir('/var/log'))"),
    Probe(
        "see_the_sockets_of_services",
        "names = set(os.listdir('/run')) - {'podium', 'secrets', '.containerenv'}\nif names: got(names)",
    ),
    Probe("write_into_usr", "got(os.open('/usr/lib', os.O_TMPFILE | os.O_WRONLY))", "root"),
    Probe("write_into_etc", "got(os.open('/etc', os.O_TMPFILE | os.O_WRONLY))", "root"),
    Probe(
        "write_into_the_toolchain",
        "got(os.open(os.path.dirname(os.__file__), os.O_TMPFILE | os.O_WRONLY))",
        "root",
    ),
    Probe("use_shared_memory_of_the_host", "got(open('/dev/shm/' + P['shm']).read())"),
    Probe(
        "open_by_handle",
        "handle = ctypes.create_string_buffer(struct.pack('Ii', 8, 1) + struct.pack('II', 2, 0) + bytes(128))\n"
        "fd = os.open(P['cwd'], os.O_RDONLY)\n"
        "found = libc.syscall(304, fd, handle, 0)\n"
        "if found >= 0 or ctypes.get_errno() not in (errno.EPERM,): got(found)",
        "root",
    ),
)

MOUNTS = (
    Probe("make_a_user_namespace", "call(libc.unshare, 0x10000000); got('user namespace')"),
    Probe(
        "make_a_user_namespace_by_clone",
        "pid = libc.syscall(56, 0x10000000 | 17, 0, 0, 0, 0)\nif pid == 0: os._exit(0)\nif pid > 0: os.waitpid(pid, 0); got('clone')",
    ),
    Probe("make_a_mount_namespace", "call(libc.unshare, 0x20000); got('mount namespace')", "root"),
    Probe(
        "mount_something", "apart(); os.mkdir('m'); mount('tmpfs', 'm', 'tmpfs', 0); got('mounted')", "root"
    ),
    Probe("mount_proc", "apart(); os.mkdir('p'); mount('proc', 'p', 'proc', 0); got('mounted')", "root"),
    Probe(
        "mount_a_control_group",
        "apart(); os.mkdir('c'); mount('none', 'c', 'cgroup2', 0); got('mounted')",
        "root",
    ),
    Probe(
        "make_the_root_writable_again",
        "apart()\nfor place in ('/', '/usr', '/etc/passwd'):\n"
        "    if libc.mount(None, place.encode(), None, 32 | 4096, None) == 0: got(place)",
        "root",
    ),
    Probe(
        "uncover_what_is_mounted_over", "apart(); call(libc.umount2, b'/proc', 2); got('unmounted')", "root"
    ),
    Probe("change_the_root", "os.chroot('.'); got('chroot')", "root"),
    Probe("enter_the_mounts_of_another", "enter('mnt', 0x20000); got('entered')", "root"),
    Probe("enter_the_network_of_another", "enter('net', 0x40000000); got('entered')", "root"),
    Probe("enter_the_processes_of_another", "enter('pid', 0x20000000); got('entered')", "root"),
    Probe(
        "build_a_sandbox_inside",
        "run('bwrap', '--unshare-user', '--ro-bind', '/', '/', 'true'); got('nested')",
    ),
    Probe("make_a_device", "os.mknod('disk', stat.S_IFBLK | 0o600, os.makedev(8, 0)); got('made')", "root"),
)

KERNEL = (
    Probe("set_the_core_pattern", "got(os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY))", "root"),
    Probe(
        "set_anything_in_proc_sys",
        "for top, _, names in os.walk('/proc/sys'):\n"
        "    for name in names:\n"
        "        try: os.open(f'{top}/{name}', os.O_WRONLY)\n"
        "        except OSError: continue\n"
        "        got(f'{top}/{name}')",
        "root",
    ),
    Probe("press_sysrq", "got(os.open('/proc/sysrq-trigger', os.O_WRONLY))", "none"),
    Probe("read_the_memory_of_the_kernel", "got(os.open('/proc/kcore', os.O_RDONLY))", "none"),
    Probe("read_the_log_of_the_kernel", "n = libc.klogctl(10, None, 0)\nif n > 0: got(n)", "root"),
    Probe(
        "load_a_module",
        "libc.syscall(313, -1, b'', 0)\nif ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS): got(ctypes.get_errno())",
        "none",
    ),
    Probe(
        "load_a_program_into_the_kernel",
        "attr = struct.pack('IIIII', 2, 4, 4, 1, 0) + bytes(100)\nif libc.syscall(321, 0, attr, len(attr)) >= 0: got('map')",
        "root",
    ),
    Probe(
        "watch_the_whole_processor",
        "attr = struct.pack('IIQ', 1, 112, 0) + bytes(96)\nif libc.syscall(298, attr, -1, 0, -1, 0) >= 0: got('watching')",
        "root",
    ),
    Probe("use_a_ring_of_calls", "if libc.syscall(425, 4, bytes(120)) >= 0: got('ring')", "none"),
    Probe("watch_all_files", "if libc.syscall(300, 0, 0) >= 0: got('watching')", "root"),
    Probe(
        "name_the_host",
        "call(libc.sethostname, os.uname().nodename.encode(), len(os.uname().nodename)); got('named')",
        "root",
    ),
    Probe("become_root", "os.setuid(0); os.seteuid(0)\nif os.getuid() == 0: got('root')", "root"),
    Probe("be_root_already", "if os.getuid() == 0 or 0 in os.getgroups(): got(os.getuid())", "root"),
    Probe(
        "hold_a_capability",
        "sets = [line for line in status() if line.startswith('Cap') and int(line.split()[1], 16)]\nif sets: got(sets)",
    ),
    Probe("gain_rights_by_a_program", "if 'NoNewPrivs:\\t0' in status(): got('set-user-id works')", "root"),
    Probe(
        "dump_a_core",
        "import resource; resource.setrlimit(resource.RLIMIT_CORE, (1, 1)); got('raised')",
        "root",
    ),
    Probe("see_sysfs", "if os.path.isdir('/sys/kernel'): got(os.listdir('/sys'))"),
    Probe(
        "open_a_control_group",
        "for top, _, names in os.walk('/sys/fs/cgroup'):\n"
        "    if 'cgroup.procs' in names: got(os.open(f'{top}/cgroup.procs', os.O_WRONLY))",
        "root",
    ),
    Probe(
        "open_a_release_agent",
        "for top, _, names in os.walk('/sys/fs/cgroup'):\n"
        "    if 'release_agent' in names: got(os.open(f'{top}/release_agent', os.O_WRONLY))",
        "none",
    ),
    Probe(
        "open_a_device_of_the_machine",
        "fine = {'null', 'zero', 'full', 'random', 'urandom', 'tty', 'ptmx', 'console', 'core'}\n"
        "for top, _, names in os.walk('/dev'):\n"
        "    for name in set(names) - fine:\n"
        "        if top in ('/dev/pts', '/dev/shm', '/dev/fd'): continue\n"
        "        if stat.S_ISREG(os.stat(f'{top}/{name}').st_mode): continue\n"
        "        try: os.open(f'{top}/{name}', os.O_RDONLY | os.O_NONBLOCK)\n"
        "        except OSError: continue\n"
        "        if name not in ('stdin', 'stdout', 'stderr'): got(f'{top}/{name}')",
        "root",
    ),
)

PROCESSES = (
    Probe("see_a_process_of_the_host", "for pid in pids():\n    if P['token'] in cmdline(pid): got(pid)"),
    Probe("signal_a_process_of_the_host", "os.kill(P['sleeper'], 0); got('signalled')"),
    Probe(
        "trace_a_process_of_the_host",
        "call(libc.ptrace, 16, P['sleeper'], 0, 0); os.waitpid(P['sleeper'], 0x40000000); libc.ptrace(17, P['sleeper'], 0, 0); got('traced')",
        "root",
    ),
    Probe(
        "read_the_memory_of_a_process_of_the_host",
        "got(os.open(f\"/proc/{P['sleeper']}/mem\", os.O_RDONLY))",
        "root",
    ),
    Probe(
        "read_the_environment_of_pid_1",
        "if P['token'] in environ(1) or P['token'] in environ(P['driver']): got('token')",
    ),
    Probe("read_any_environment", "for pid in pids():\n    if P['token'] in environ(pid): got(pid)"),
    Probe(
        "read_the_arguments_of_any_process", "for pid in pids():\n    if P['token'] in cmdline(pid): got(pid)"
    ),
    Probe(
        "use_a_descriptor_of_the_launcher",
        "for fd in range(3, 100):\n    try: link = os.readlink(f'/proc/self/fd/{fd}')\n    except OSError: continue\n    if P['token'] in link: got(link)",
    ),
    Probe(
        "reach_shared_memory_of_the_system_v_kind", "if libc.shmget(P['shmkey'], 0, 0) >= 0: got('segment')"
    ),
    Probe("open_the_terminal", "got(os.open('/dev/tty', os.O_RDWR))"),
    Probe(
        "type_into_the_terminal",
        "fd = os.open('/dev/tty', os.O_RDWR); fcntl.ioctl(fd, 0x5412, b'x'); got('typed')",
        "none",
    ),
    Probe(
        "take_a_key_of_the_session",
        "key = libc.syscall(250, 10, -3, b'user', P['token'].encode(), 0)\nif key >= 0: got(key)",
    ),
)

NETWORK = (
    Probe("connect_to_the_host", "got(socket.create_connection(('127.0.0.1', P['port']), 2))"),
    Probe(
        "connect_to_a_socket_in_a_folder",
        "s = socket.socket(socket.AF_UNIX); s.connect(P['socket']); got('connected')",
    ),
    Probe(
        "connect_to_an_abstract_socket",
        "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + P['token']); got('connected')",
    ),
    Probe(
        "see_the_interfaces_of_the_host",
        "names = {n for _, n in socket.if_nameindex()} - {'lo'}\nif names: got(names)",
        "none",
    ),
    Probe(
        "find_a_route_to_the_world",
        "s = socket.socket(type=socket.SOCK_DGRAM); s.connect(('192.0.2.1', 9)); got('route')",
        "none",
    ),
    Probe("call_the_host_of_a_virtual_machine", "got(socket.socket(40, socket.SOCK_STREAM))", "none"),
    Probe(
        "send_raw_packets", "got(socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))", "root"
    ),
    Probe("listen_to_all_packets", "got(socket.socket(socket.AF_PACKET, socket.SOCK_RAW))", "root"),
    Probe(
        "change_an_interface",
        "s = socket.socket(type=socket.SOCK_DGRAM)\n"
        "same = fcntl.ioctl(s, 0x8913, struct.pack('16sH14x', b'lo', 0)); fcntl.ioctl(s, 0x8914, same); got('set')",
        "root",
    ),
)

PROBES = (*FILES, *MOUNTS, *KERNEL, *PROCESSES, *NETWORK)
