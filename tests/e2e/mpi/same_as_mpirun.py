#!/usr/bin/env python3
"""Runs command lines of Open MPI, MPICH and Intel MPI under their own launcher and under dslaunch in its place, and compares.

    same_as_mpirun.py --dslaunch build/release/bin/dslaunch [--openmpi mpirun.openmpi] [--hydra mpiexec.hydra]
        [--intel DIR/bin/mpiexec.hydra] [--prte DIR/bin/prterun] [--results FILE] [--only TEXT] [--at-least N]

Compared are the exit code and standard output; lines in any order, because ranks write at the same time. `nodes` are simulated
on this machine by a program in place of ssh, which both launchers are told to use. A launcher that is not installed is skipped.
Exit code 1 if a line differs that is not expected to, or if fewer than --at-least lines were compared."""
import argparse, os, re, shutil, subprocess, sys, tempfile, time

# What another launcher says on standard error where it refuses words that dslaunch takes.
REFUSALS = {
    'bind that would require binding': 'Open MPI 5 refuses more ranks than cores; dslaunch, as 4.1, binds none then',
    'rankby directive is not recognized': 'Open MPI 5 ranks by slot, node, fill or span only',
    'An unrecognized option': 'Open MPI 5 no longer knows this spelling',
    'unable to find the specified executable': 'Open MPI 5 no longer knows this spelling',
}

RANKS = r'''echo "$R of $S, local $L of $N on ${NODE:-here}"'''
OMPI = r'''R=$OMPI_COMM_WORLD_RANK S=$OMPI_COMM_WORLD_SIZE L=$OMPI_COMM_WORLD_LOCAL_RANK N=$OMPI_COMM_WORLD_LOCAL_SIZE; '''
HYDRA = r'''R=$PMI_RANK S=$PMI_SIZE L=$MPI_LOCALRANKID N=$MPI_LOCALNRANKS; '''
CPUS = ['sh', '-c', '''echo "${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $(taskset -cp $$ | sed 's/.*: //')"''']


def cases():
    """Yields (family, what, words, options). Families: openmpi, hydra (MPICH and Intel)."""
    o = lambda what, *words, **more: ('openmpi', what, list(words), more)
    h = lambda what, *words, **more: ('hydra', what, list(words), more)
    ranks_o = ['sh', '-c', OMPI + RANKS]
    ranks_h = ['sh', '-c', HYDRA + RANKS]
    here = ['--host', 'localhost:4']
    two = ['--host', 'n1:2,n2:2']
    three = ['-hosts', 'n1,n2,n3']
    fails = lambda *codes: ['sh', '-c', 'case ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} in ' + ' '.join(
        f'{i}) {"sleep %g;" % (0.3 * i) if i else ""} {c};;' for i, c in enumerate(codes)) + ' *) sleep 5;; esac']
    env_o = '''echo $(env | grep -E '^(OMPI_COMM_WORLD_|OMPI_UNIVERSE_SIZE|OMPI_NUM_APP_CTX|OMPI_APP_CTX_NUM_PROCS)' | sort)'''
    env_h = '''echo $(env | grep -E '^(PMI_RANK|PMI_SIZE|MPI_LOCAL)' | sort)'''
    for launch in (two, ['--map-by', 'node'] + two, ['--rank-by', 'node'] + two, ['-np', '3', '--map-by', 'node'] + two,
                   ['-np', '3', '--map-by', 'slot'] + two, ['-npernode', '1'] + two, ['--map-by', 'ppr:1:node'] + two,
                   ['-np', '4', '--map-by', 'node', '--rank-by', 'slot'] + two, ['-np', '6', '--oversubscribe'] + two,
                   ['-np', '6', '--map-by', 'node:OVERSUBSCRIBE'] + two):
        yield o('rank order', *launch, *ranks_o, nodes=True)
    yield o('variables', *here, '-np', '3', 'sh', '-c', env_o)
    yield o('variables of two programs', *here, '-np', '1', 'sh', '-c', env_o, ':', *here, '-np', '2', 'sh', '-c', env_o)
    yield o('-x of a program', *here, '-np', '1', '-x', 'A=1', '-x', 'B', 'sh', '-c', 'echo "a $A $B $C"', ':', *here, '-np', '1', '-x', 'C=3',
            'sh', '-c', 'echo "b $A $C"', set={'B': 'two words'}, five='-x of Open MPI 5 is for all programs')
    yield o('-wdir of a program', *here, '-np', '1', '-wdir', '/usr', 'pwd', ':', *here, '-np', '1', 'pwd')
    yield o('-host of a program', '-np', '1', '--host', 'n1', *ranks_o, ':', '-np', '2', '--host', 'n2:2', *ranks_o, nodes=True)
    yield o('folder that is missing', *here, '-np', '1', '-wdir', '/missing', 'pwd', own=65, why='dslaunch: 65, an error of the configuration')
    for codes in (['exit 7'], ['exit 0', 'exit 3'], ['exit 5', 'exit 9'], ['kill -9 $$'], ['kill -TERM $$'], ['exit 0', 'kill -ABRT $$'],
                  ['exit 255'], ['sleep 9', 'exit 4']):
        yield o('exit codes: ' + '; '.join(codes), *here, '-np', str(max(2, len(codes))), *fails(*codes))
    yield o('program that is missing', *here, '-np', '2', 'no-such-program', own=127, why='dslaunch: 127, as a shell')
    yield o('file that is not executable', *here, '-np', '1', '/etc/passwd', own=126, why='dslaunch: 126, as a shell')
    for who in ([], ['--stdin', '1'], ['--stdin', 'none'], ['--stdin', 'all']):
        yield o('standard input', *here, '-np', '2', *who, 'sh', '-c', 'echo "$OMPI_COMM_WORLD_RANK $(cat | tr "\\n" ,)"', input='one\ntwo\n',
                five='the other ranks of Open MPI 5 never see the end of their input',
                **({'why': 'the other ranks of Open MPI 4.1 never see the end of the input'} if who == ['--stdin', 'all'] else {}))
    yield o('no line at the end of the output', *here, '-np', '1', 'printf', 'one\ntwo')
    yield o('--tag-output', *here, '-np', '2', '--tag-output', 'sh', '-c', 'echo "line $OMPI_COMM_WORLD_RANK"', five='Open MPI 5 adds a blank after the tag; dslaunch, as 4.1, does not')
    yield o('--tag-output of standard error', *here, '-np', '2', '--tag-output', 'sh', '-c', 'echo line >&2', both=True, five='Open MPI 5 adds a blank after the tag; dslaunch, as 4.1, does not')
    for bind in ([], ['--bind-to', 'core'], ['--bind-to', 'hwthread'], ['--bind-to', 'none'], ['--bind-to', 'socket'], ['--bind-to', 'numa'],
                 ['--map-by', 'core'], ['--map-by', 'socket', '--bind-to', 'core'], ['--map-by', 'slot:PE=2'], ['-np', '1', '--map-by', 'slot:PE=2'],
                 ['--map-by', 'ppr:2:socket'], ['--map-by', 'numa'], ['--bycore'], ['--rank-by', 'core', '--map-by', 'socket', '--bind-to', 'core']):
        np = [] if '-np' in bind else ['-np', '2']
        more = {}
        if bind == ['--map-by', 'slot:PE=2']: more['why'] = 'Open MPI refuses more cores than there are; in dslaunch ranks share them'
        if 'ppr:2:socket' in bind: more['five'] = 'Open MPI 5 binds to the socket; dslaunch, as 4.1, at most 2 ranks to cores'
        yield o('binding ' + ' '.join(bind), '--host', 'localhost:2', *np, *bind, *CPUS, **more)
    yield o('more ranks than cores', '--oversubscribe', '-np', '3', *CPUS)
    yield o('too few slots', '--host', 'localhost:1', '-np', '2', 'true', own=65, why='dslaunch: 65, an error of the configuration')

    for launch in (['-n', '6'] + three, ['-n', '6', '-ppn', '2'] + three, ['-n', '4', '-ppn', '1'] + three, ['-n', '5', '-hosts', 'n1:2,n2:1'],
                   ['-n', '3', '-f', 'hosts'], ['-n', '5', '-f', 'hosts'], ['-ppn', '2', '-n', '4', '-f', 'hosts']):
        yield h('rank order', *launch, *ranks_h, nodes=True, files={'hosts': 'n1:2\n# comment\nn2\n'},
                **({} if '-ppn' in launch else {'intel': 'Intel MPI: as many slots as a host has cores; dslaunch, as MPICH: those of the list, else 1'}))
    yield h('variables', '-n', '3', 'sh', '-c', env_h)
    yield h('several programs', '-n', '1', *ranks_h, ':', '-n', '2', *ranks_h)
    yield h('-genv and -env', '-genv', 'A', '1', '-n', '1', '-env', 'A', '2', 'sh', '-c', 'echo "a $A $B"', ':', '-n', '1', '-env', 'B', '3',
            'sh', '-c', 'echo "b $A $B"')
    yield h('-genv after the first program', '-n', '1', 'sh', '-c', 'echo "a $A"', ':', '-n', '1', '-genv', 'A', '1', 'sh', '-c', 'echo "b $A"')
    yield h('-genvlist', '-genvlist', 'B', '-n', '1', 'sh', '-c', 'echo "$B"', set={'B': 'two words'})
    yield h('all variables go with the ranks', '-n', '1', 'sh', '-c', 'echo "$B"', set={'B': 'two words'})
    yield h('-wdir of a program', '-n', '1', '-wdir', '/usr', 'pwd', ':', '-n', '1', 'pwd', intel='-wdir of Intel MPI is for all programs')
    yield h('-l', '-l', '-n', '2', 'sh', '-c', 'echo "line $PMI_RANK"')
    yield h('-prepend-pattern', '-prepend-pattern', '%r of %%: ', '-n', '2', 'echo', 'line')
    yield h('-prepend-rank after the first program', '-n', '1', 'echo', 'a', ':', '-n', '1', '-prepend-rank', 'echo', 'b')
    for codes in (['exit 7'], ['exit 0', 'exit 3'], ['kill -9 $$'], ['kill -TERM $$'], ['exit 255'], ['exit 5', 'exit 9']):
        why = {'k': 'dslaunch: 128 + signal, as a shell; Hydra: the signal or 255, and a banner on standard output'}.get(codes[0][0])
        if codes[-1] == 'exit 9': why = 'dslaunch: the first failure; Hydra: the codes of all ranks, joined by OR'
        yield h('exit codes: ' + '; '.join(codes), '-n', str(max(2, len(codes))), *fails(*codes),
                own={'kill -9 $$': 137, 'kill -TERM $$': 143, 'exit 5': 5}.get(codes[0], 0), **({'why': why} if why else {}))
    yield h('program that is missing', '-n', '2', 'no-such-program', own=127, why='dslaunch: 127, as a shell')
    yield h('file that is not executable', '-n', '1', '/etc/passwd', own=126, why='dslaunch: 126, as a shell')
    yield h('standard input', '-n', '2', 'sh', '-c', '[ $PMI_RANK != 0 ] || cat', input='one\ntwo\n')
    for bind in ([], ['-bind-to', 'core'], ['-bind-to', 'hwthread'], ['-bind-to', 'core:2'], ['-bind-to', 'socket'], ['-bind-to', 'rr'],
                 ['-bind-to', 'core', '-map-by', 'socket'], ['-map-by', 'core'], ['-bind-to', 'none'], ['-bind-to', 'numa']):
        yield h('binding ' + ' '.join(bind), '-n', '3', *bind, *CPUS,
                intel='Intel MPI pins by I_MPI_PIN; dslaunch as MPICH: only with -bind-to')


FAKE_SSH = '''#!/bin/sh
# Runs a command "on" a host of this machine: ssh's words, with NODE as the host.
while :; do case $1 in -[lpo]) shift 2;; -*) shift;; *) break;; esac; done
NODE=$1; export NODE; shift
exec sh -c "$*"
'''


def run(words, case, folder):
    env = {k: v for k, v in os.environ.items() if not re.match('OMPI_|PMI|PRTE_|PMIX|HYDRA|MPI_|I_MPI|DSLAUNCH', k)}
    env.update(OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', PRTE_ALLOW_RUN_AS_ROOT='1',
               PRTE_ALLOW_RUN_AS_ROOT_CONFIRM='1', **case.get('set', {}))
    env.update(case.get('env', {}))
    begin = time.time()
    try:
        stdin = {'input': case['input']} if 'input' in case else {'stdin': subprocess.DEVNULL}
        done = subprocess.run(words, cwd=folder, env=env, text=True, timeout=20, **stdin,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT if case.get('both') else subprocess.PIPE)
        out = sorted(line.rstrip() for line in done.stdout.splitlines())
        return done.returncode, out, done.stderr or '', time.time() - begin
    except subprocess.TimeoutExpired:
        return 'did not end', [], '', time.time() - begin


TOPOLOGIES = [(2, 2, 4, 2), (1, 1, 8, 1), (2, 1, 6, 2), (1, 4, 3, 1)]


def ranges(numbers):
    """Returns the text of ascending numbers: 0-3,8."""
    parts = []
    for n in sorted(numbers):
        if parts and parts[-1][1] == n - 1: parts[-1][1] = n
        else: parts.append([n, n])
    return ','.join(str(a) if a == b else f'{a}-{b}' for a, b in parts)


def map_of_hydra(program, words, topology, env):
    """Returns the processors of each rank, as Hydra prints them; a host of its own making binds nothing."""
    done = subprocess.run([program, *words, 'true'], env={**env, 'HYDRA_TOPO_DEBUG': '1'}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=20)
    found = {int(rank): ranges(i for i, bit in enumerate(bits) if bit == '1')
             for rank, bits in re.findall(r'process (\d+) binding: (\d+)', done.stdout)}
    return [found[rank] for rank in sorted(found)]


def map_of_openmpi(program, words, topology, env):
    """Returns the processors of each rank of Open MPI's map; nothing if it shows none, as for NUMA nodes with hwloc 2."""
    done = subprocess.run([program, '--host', 'elsewhere:64', '--display-map', '--do-not-launch', *words, 'true'], env=env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=20)
    maps = []
    for line in re.findall(r'Process rank: \d+ (.*)', done.stdout):
        threads = set()
        for core, first, last in re.findall(r'core (\d+)\[hwt (\d+)(?:-(\d+))?\]', line):
            threads |= {int(core) * topology[3] + i for i in range(int(first), int(last or first) + 1)}
        if not threads: return []
        maps.append(ranges(threads))
    return maps


def made_up_nodes(probe, openmpi, hydra):
    """Compares processors of ranks on made-up nodes (hwloc's HWLOC_SYNTHETIC). Returns the counts: equal, different, not shown."""
    counts = [0, 0, 0]
    commands = []
    for n in ('2', '6', '20'):
        commands += [(map_of_hydra, hydra, 'mpiexec.hydra', ['-n', n, '-bind-to', bind] + (['-map-by', where] if where else []))
                     for bind in ('core', 'hwthread', 'socket', 'numa', 'l3cache', 'core:2')
                     for where in ('', 'core', 'hwthread', 'socket', 'numa', 'l3cache') if ':' not in bind or where in ('', 'socket', 'numa')]
        commands += [(map_of_openmpi, openmpi, 'mpirun', ['-np', n, '--map-by', where, '--bind-to', bind])
                     for bind in ('core', 'hwthread', 'socket', 'l3cache')
                     for where in ('slot', 'node', 'core', 'hwthread', 'socket', 'numa', 'l3cache', 'slot:PE=2', 'socket:PE=2', 'ppr:2:socket')
                     if 'PE' not in where or bind in ('core', 'hwthread')]
        commands += [(map_of_openmpi, openmpi, 'mpirun', ['-np', n, *more]) for more in ([], ['--map-by', 'core'], ['--map-by', 'slot:PE=2'])]
    for topology in TOPOLOGIES:
        synthetic = 'package:%d numa:%d l3:1 core:%d pu:%d' % topology
        env = {**os.environ, 'HWLOC_SYNTHETIC': synthetic, 'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'}
        for read_map, program, name, words in commands:
            if not program or not shutil.which(program): continue
            theirs = read_map(program, words, topology, env)
            own = subprocess.run([probe, *map(str, topology), name, *words, 'true'], stdout=subprocess.PIPE, text=True).stdout.split()
            verdict = 2 if not theirs else 0 if theirs == own else 1
            counts[verdict] += 1
            if verdict == 1:
                print(f'{synthetic}: {name} {" ".join(words)}\n  theirs:   {" ".join(theirs)}\n  dslaunch: {" ".join(own)}')
    return counts


def version_of(program):
    env = {**os.environ, 'PRTE_PREFIX': os.path.dirname(os.path.dirname(program))}
    done = subprocess.run([program, '--version'], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = re.search(r'\d+\.\d+[\w.]*', done.stdout)
    return found[0] if found else '(version unknown)'


def shown(word):
    return word if re.fullmatch(r'[\w=./:,@%+-]+', word) else "'" + word.replace(OMPI, '').replace(HYDRA, '') + "'"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--dslaunch', required=True)
    parser.add_argument('--openmpi', default='mpirun.openmpi')
    parser.add_argument('--hydra', default='mpiexec.hydra')
    parser.add_argument('--intel')
    parser.add_argument('--prte')
    parser.add_argument('--results')
    parser.add_argument('--probe', help='compare bindings on made-up nodes too, with this bind_probe')
    parser.add_argument('--only', default='')
    parser.add_argument('--at-least', type=int, default=0)
    parser.add_argument('--verbose', action='store_true')
    args = parser.parse_args()
    dslaunch = os.path.abspath(args.dslaunch)
    folder = tempfile.mkdtemp()
    fake = os.path.join(folder, 'fakessh')
    with open(fake, 'w') as file:
        file.write(FAKE_SSH)
    os.chmod(fake, 0o755)
    rows, versions, counts = [], [], {'equal': 0, 'expected': 0, 'different': 0}
    launchers = [('openmpi', 'Open MPI', args.openmpi, 'mpirun'), ('hydra', 'MPICH', args.hydra, 'mpiexec.hydra'),
                 ('hydra', 'Intel MPI', args.intel, 'mpiexec.hydra'), ('openmpi', 'Open MPI 5', args.prte, 'mpirun')]
    try:
        for family, name, program, own_name in launchers:
            if not program or not shutil.which(program):
                if program: print(f'SKIP: {program} ({name}) is not installed')
                continue
            versions.append(f'{name} (PRRTE {version_of(program)})' if name == 'Open MPI 5' else f'{name} {version_of(program)}')
            for case_family, what, words, case in cases():
                if case_family != family or args.only not in what: continue
                # Two daemons of Open MPI 5 on one machine report wrong numbers, or never end.
                if name == 'Open MPI 5' and case.get('nodes'): continue
                for path, text in case.get('files', {}).items():
                    with open(os.path.join(folder, path), 'w') as file: file.write(text)
                agent = []
                if case.get('nodes'):
                    agent = ['--mca', 'plm_rsh_agent', fake] if family == 'openmpi' else ['-launcher', 'ssh', '-launcher-exec', fake]
                start = [program]
                if name == 'Open MPI 5':
                    start += ['--personality', 'ompi']
                    case = {**case, 'env': {'PRTE_PREFIX': os.path.dirname(os.path.dirname(program))}}
                theirs = run([*start, *agent, *words], case, folder)
                # Two daemons of Open MPI on one machine do not always find each other; mpiexec.hydra can die of SIGPIPE.
                for _ in range(9):
                    if theirs[0] not in (139, 213, -13) and 'ORTE does not know' not in theirs[2]: break
                    theirs = run([*start, *agent, *words], case, folder)
                own = run([dslaunch, 'as', own_name, *agent, *words], case, folder)
                # On a busy machine mpiexec.hydra can exit with 255 although all ranks ended well.
                if theirs[0] == 255 and own[0] != 255: theirs = run([*start, *agent, *words], case, folder)
                same = theirs[:2] == own[:2]
                why = case.get({'Intel MPI': 'intel', 'Open MPI 5': 'five'}.get(name), case.get('why'))
                if name == 'Open MPI 5' and not case.get('why'):
                    why = next((text for sign, text in REFUSALS.items() if sign in theirs[2]), why)
                verdict = 'equal' if same else 'expected' if why and own[0] == case.get('own', 0) else 'different'
                counts[verdict] += 1
                codes = f' (exit {theirs[0]}, dslaunch {own[0]})' if theirs[0] != own[0] else ''
                text = {'equal': 'equal', 'expected': f'differs: {why}{codes}'}.get(verdict)
                if text is None:
                    text = f'DIFFERS: exit {theirs[0]}, dslaunch {own[0]}' if theirs[0] != own[0] else 'DIFFERS: output'
                    print(f'{name}: {what}: {" ".join(map(shown, words))}\n  theirs: exit {theirs[0]}: {theirs[1]}\n  dslaunch: exit {own[0]}: {own[1]}')
                    if args.verbose: print('  their standard error:', theirs[2][-600:], '\n  dslaunch:', own[2][-600:])
                rows.append((name, what, ' '.join([own_name] + [shown(w) for w in words]), text))
    finally:
        shutil.rmtree(folder)
    places = made_up_nodes(args.probe, args.openmpi, args.hydra) if args.probe else None
    if places: counts['different'] += places[1]
    if args.results:
        with open(args.results, 'w') as file:
            file.write('# Command lines of other MPI launchers, under them and under dslaunch\n\n'
                       'Written by [same_as_mpirun.py](same_as_mpirun.py). Equal: the same exit code and the same lines of standard output.\n'
                       f'Launchers: {", ".join(versions)}, on a machine with {os.cpu_count()} cores. Hosts n1, n2 and n3 are simulated on it.\n\n'
                       '| launcher | what | command | result |\n|---|---|---|---|\n')
            for row in rows:
                file.write('| ' + ' | '.join(cell.replace('|', '\\|').replace('\n', ' ') for cell in row) + ' |\n')
            if places:
                file.write(f'\nProcessors of ranks on nodes made up with HWLOC_SYNTHETIC, by -bind-to and -map-by of MPICH and Open MPI: '
                           f'{places[0]} command lines equal, {places[1]} different, {places[2]} refused or not shown by their launcher.\n')
            file.write(f'\n{counts["equal"]} equal, {counts["expected"]} differ for the given reason, {counts["different"]} differ without one.\n')
    print(f'{counts["equal"]} equal, {counts["expected"]} differ for a reason, {counts["different"]} differ without one')
    return 1 if counts['different'] or sum(counts.values()) < args.at_least else 0


if __name__ == '__main__':
    sys.exit(main())
