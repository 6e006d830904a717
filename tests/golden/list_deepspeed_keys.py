#!/usr/bin/env python3
"""Writes deepspeed_keys.txt: every configuration key that a release of DeepSpeed reads, found in its sources by Python's AST.

Run by hand: pip download deepspeed --no-deps; tests/golden/list_deepspeed_keys.py FOLDER_OR_TAR.GZ
Nothing of DeepSpeed is imported. A test checks that the table in engine/deepspeed knows every key of the list. The script
fails where it finds a reader that is in none of its tables, so that a section new in a release is not missed.
"""
import ast
import os
import sys
import tarfile

# Classes of pydantic, and the sections that they read.
CLASSES = {
    "HybridEngineConfig": ["hybrid_engine"], "DeepSpeedBF16Config": ["bf16", "bfloat16"], "DeepSpeedFP16Config": ["fp16"],
    "DeepSpeedZeroOffloadParamConfig": ["zero_optimization.offload_param"],
    "DeepSpeedZeroOffloadOptimizerConfig": ["zero_optimization.offload_optimizer"],
    "DeepSpeedZeroConfig": ["zero_optimization"], "DeepSpeedZeroLeafModuleConfig": ["zero_optimization.leaf_module"],
    "ZenFlowConfig": ["zero_optimization.zenflow"], "TPConfig": ["tensor_parallel.tensor_parallel"],
    "TPTrainingConfig": ["tensor_parallel"], "TensorBoardConfig": ["tensorboard"], "WandbConfig": ["wandb"],
    "CSVConfig": ["csv_monitor"], "CometConfig": ["comet"], "DeepSpeedMonitorConfig": [""],
    "DeepSpeedThroughputTimerConfig": ["timers.throughput"], "CompileConfig": ["compile"],
    "CommsLoggerConfig": ["comms_logger"], "BaseQuantConfig": ["weight_quantization"],
    "WeightQuantConfig": ["weight_quantization"],
}
# Classes that only deepspeed.init_inference() uses.
INFERENCE = ("DeepSpeedTPConfig", "DeepSpeedMoEConfig", "ActivationQuantConfig", "QKVQuantConfig", "QuantizationConfig",
             "InferenceCheckpointConfig", "DeepSpeedInferenceConfig")
# Classes whose constructors' parameters are the keys.
CONSTRUCTORS = {
    "runtime/lr_schedules.py": ("scheduler.params", ["LRRangeTest", "OneCycle", "WarmupLR", "WarmupDecayLR", "WarmupCosineLR"]),
    "ops/adam/fused_adam.py": ("optimizer.params", ["FusedAdam"]),
    "ops/adam/cpu_adam.py": ("optimizer.params", ["DeepSpeedCPUAdam"]),
    "ops/lamb/fused_lamb.py": ("optimizer.params", ["FusedLamb"]),
    "ops/lion/fused_lion.py": ("optimizer.params", ["FusedLion"]),
    "ops/lion/cpu_lion.py": ("optimizer.params", ["DeepSpeedCPULion"]),
    "ops/adagrad/cpu_adagrad.py": ("optimizer.params", ["DeepSpeedCPUAdagrad"]),
    "runtime/zero/muon/original_muon.py": ("optimizer.params", ["Muon"]),
}
SAMPLING = "data_efficiency.data_sampling"
METRIC = SAMPLING + ".curriculum_learning.curriculum_metrics.*"
# Dictionaries by file and expression ("function: expression" where one name has several meanings). None: not a
# configuration.
READERS = {
    "runtime/config.py": {
        "param_dict": "", "self._param_dict": "", "config": "", "checkpoint_params": "checkpoint",
        "par_write_params": "checkpoint.parallel_write", "param_dict[TORCH_AUTOCAST]": "torch_autocast",
        "param_dict[OPTIMIZER]": "optimizer", "optimizer_params": "optimizer.params",
        "self.optimizer_params": "optimizer.params", "param_dict[SCHEDULER]": "scheduler",
        "data_types_params": "data_types",
    },
    "runtime/precision_config.py": {"param_dict": ""},
    "runtime/zero/config.py": {"param_dict": "", "zero_config_dict": "zero_optimization"},
    "runtime/zero/offload_config.py": {"self.__dict__": None},
    "runtime/swap_tensor/aio_config.py": {"param_dict": "", "aio_dict": "aio", "aio_config": "aio"},
    "runtime/activation_checkpointing/config.py": {"param_dict": "", "act_chkpt_config_dict": "activation_checkpointing"},
    "runtime/model_checkpointing/config.py": {
        "get_checkpoint_writer_config: param_dict": "checkpoint", "param_dict": "", "writer_dict": "checkpoint.writer",
        "checkpoint_dict": "checkpoint"},
    "runtime/tensor_parallel/config.py": {"ds_config": "", "instance_dict": None},
    "profiling/config.py": {"param_dict": "", "flops_profiler_dict": "flops_profiler"},
    "monitor/config.py": {"self.__dict__": None},
    "datastates/config.py": {"param_dict": ""},
    "utils/config.py": {"param_dict": "", "param_dict[TIMERS]": "timers"},
    "comm/config.py": {"ds_config": ""},
    "autotuning/config.py": {
        "param_dict": "", "autotuning_dict": "autotuning", "get_model_info_config: param_dict": "autotuning",
        "param_dict[MODEL_INFO]": "autotuning.model_info"},
    "module_inject/autotp_config.py": {
        "config_dict": "tensor_parallel.partition_config", "spec_dict": "tensor_parallel.partition_config.layer_specs"},
    "module_inject/auto_ep_config.py": {"param_dict": "expert_parallel", "value": None},
    "runtime/data_pipeline/config.py": {
        "param_dict": "", "param_dict[DATA_EFFICIENCY]": "data_efficiency", "param_dict[DATA_SAMPLING]": SAMPLING,
        "param_dict[DATA_ROUTING]": "data_efficiency.data_routing",
        "param_dict[RANDOM_LTD]": "data_efficiency.data_routing.random_ltd",
        "param_dict[CURRICULUM_LEARNING]": SAMPLING + ".curriculum_learning",
        "get_data_efficiency_config: output": "data_efficiency", "get_data_sampling: output": SAMPLING,
        "get_data_sampling: param_dict": "data_efficiency", "get_data_routing: output": "data_efficiency.data_routing",
        "get_curriculum_learning: output": SAMPLING + ".curriculum_learning",
        "get_dynamic_batching: output": SAMPLING + ".dynamic_batching", "get_dynamic_batching: param_dict": SAMPLING,
        "get_random_ltd: output": "data_efficiency.data_routing.random_ltd",
        "output[RANDOM_LTD_LAYER_TOKEN_LR_SCHEDULE]": "data_efficiency.data_routing.random_ltd.layer_token_lr_schedule",
        "sub_param_dict": SAMPLING + ".curriculum_learning", "curriculum_learning_params": SAMPLING + ".curriculum_learning",
        "random_ltd_params": "data_efficiency.data_routing.random_ltd",
        **{f"{function}: param_dict": section for names, section in (
            ("get_data_sampling_enabled get_data_sampling_num_epochs get_data_sampling_num_workers get_data_sampling_pin_memory",
             "data_efficiency"),
            ("get_curriculum_learning get_curriculum_learning_enabled get_curriculum_learning_params", SAMPLING),
            ("get_data_routing get_data_routing_enabled", "data_efficiency"),
            ("get_random_ltd get_random_ltd_enabled get_random_ltd_params", "data_efficiency.data_routing"),
        ) for function in names.split()},
    },
    "runtime/data_pipeline/curriculum_scheduler.py": {
        "config": METRIC, "config[CURRICULUM_LEARNING_SCHEDULE_CONFIG]": METRIC + ".schedule_config",
        "self.state": None, "s_state": None},
    "runtime/data_pipeline/data_routing/scheduler.py": {
        "config": "data_efficiency.data_routing.random_ltd",
        "config[RANDOM_LTD_LAYER_TOKEN_LR_SCHEDULE]": "data_efficiency.data_routing.random_ltd.layer_token_lr_schedule",
        "self.config_schedule": "data_efficiency.data_routing.random_ltd.random_ltd_schedule",
        "self.state": None, "s_state": None, "state_dict": None},
    "runtime/data_pipeline/data_routing/basic_layer.py": {
        "config": "data_efficiency.data_routing.random_ltd", "self.random_ltd_scheduler.state": None},
    "runtime/data_pipeline/data_sampling/variable_batch_size_and_lr.py": {
        "data_efficiency_config": "data_efficiency", "data_sampling_config": SAMPLING,
        "batching_config": SAMPLING + ".dynamic_batching", "state_dict": None, "group": None},
    "runtime/engine.py": {
        "optimizer_parameters": "optimizer.params", "random_ltd_config": "data_efficiency.data_routing.random_ltd"},
    "__init__.py": {"config": "", "getattr(config_class, 'optimizer_params', None) or {}": "optimizer.params",
                    "config.get('tensor_parallel', {})": "tensor_parallel"},
}
# In these files other dictionaries are no configurations.
LAX = ("runtime/engine.py", "__init__.py")
# Dictionaries whose own keys are keys of the configuration.
LITERALS = {("runtime/config.py", "default_pipeline"): "pipeline",
            ("runtime/config.py", "_REMOVED_TOP_LEVEL_CONFIG_KEYS"): "",
            ("runtime/config.py", "_REMOVED_ZERO_CONFIG_KEYS"): "zero_optimization"}


def sources(path):
    """Returns the text of each Python file below deepspeed/ by its path there, and the version."""
    files, version = {}, ""
    if os.path.isdir(path):
        root = path if os.path.isdir(os.path.join(path, "runtime")) else os.path.join(path, "deepspeed")
        for folder, _, names in os.walk(root):
            for name in names:
                if name.endswith(".py"):
                    full = os.path.join(folder, name)
                    with open(full, encoding="utf-8") as file:
                        files[os.path.relpath(full, root)] = file.read()
        version = os.path.basename(os.path.abspath(path))
    else:
        with tarfile.open(path) as archive:
            for member in archive:
                parts = member.name.split("/")
                if len(parts) > 2 and parts[1] == "deepspeed" and member.isfile() and parts[-1].endswith(".py"):
                    files["/".join(parts[2:])] = archive.extractfile(member).read().decode()
        version = os.path.basename(path).removesuffix(".tar.gz")
    return files, version


class Finder:
    def __init__(self, files):
        self.trees = {path: ast.parse(text) for path, text in files.items()}
        self.constants = {}
        for path, tree in self.trees.items():
            for node in tree.body:
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and self.text(node.value) is not None:
                    self.constants.setdefault(node.targets[0].id, {})[path] = self.text(node.value)
        self.keys, self.strangers = set(), []

    @staticmethod
    def text(node):
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None

    def names(self, node, path):
        """Returns the strings that an expression may be: a literal, or a constant of this file or another one."""
        if self.text(node) is not None:
            return [self.text(node)]
        known = self.constants.get(node.id, {}) if isinstance(node, ast.Name) else {}
        return [known[path]] if path in known else sorted(set(known.values()))

    def add(self, section, name):
        self.keys.add(f"{section}.{name}" if section else name)

    def classes(self, path, tree):
        for node in ast.walk(tree):
            bases = "".join(map(ast.unparse, node.bases)) if isinstance(node, ast.ClassDef) else ""
            if "ConfigModel" not in bases and "QuantConfig" not in bases or path.startswith(("inference/v2", "ops/")):
                continue
            if node.name in INFERENCE:
                continue
            if node.name not in CLASSES:
                self.strangers.append(f"{path}: class {node.name}")
                continue
            for field in node.body:
                if not isinstance(field, ast.AnnAssign):
                    continue
                names = [field.target.id]
                if isinstance(field.value, ast.Call):
                    names += [self.text(word.value) for word in field.value.keywords if word.arg == "alias"]
                for section in CLASSES[node.name]:
                    for name in names:
                        self.add(section, name)

    def constructors(self, path, tree):
        section, wanted = CONSTRUCTORS[path]
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name in wanted:
                init = next(f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__")
                for argument in init.args.args:
                    if argument.arg not in ("self", "optimizer", "params", "model_params"):
                        self.add(section, argument.arg)
                wanted = [name for name in wanted if name != node.name]
        self.strangers += [f"{path}: no class {name}" for name in wanted]

    def reads(self, node, path):
        """Returns (dictionary, keys) if the node looks a key up in a dictionary."""
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if called in ("get_scalar_param", "get_dict_param", "get_list_param") and len(node.args) > 1:
                return node.args[0], self.names(node.args[1], path)
            if called in ("get", "pop") and node.args and isinstance(node.func, ast.Attribute):
                return node.func.value, self.names(node.args[0], path)
            if called == "_muon_half_defaults":
                return node.args[0], self.names(node.args[2], path)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Name, ast.Constant)):
            return node.value, self.names(node.slice, path)
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return node.comparators[0], self.names(node.left, path)
        return None, []

    def dictionaries(self, path, tree):
        readers = READERS[path]
        for function in [tree] + [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
            name = getattr(function, "name", "")
            for node in ast.walk(function) if name else ast.iter_child_nodes(function):
                dictionary, keys = self.reads(node, path)
                if not keys:
                    continue
                expression = ast.unparse(dictionary).removesuffix(".keys()")
                if expression in ("os.environ",):
                    continue
                section = readers.get(f"{name}: {expression}", readers.get(expression, "?"))
                if section == "?" and path not in LAX:
                    self.strangers.append(f"{path}: {name}: {expression}: {keys}")
                elif section not in (None, "?"):
                    for key in keys:
                        self.add(section, key)

    def literals(self, path, tree):
        for node in ast.walk(tree):
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            section = LITERALS.get((path, getattr(target, "id", "")))
            if section is not None and isinstance(node.value, ast.Dict):
                for key in node.value.keys:
                    self.add(section, self.text(key))

    def find(self):
        for path, tree in self.trees.items():
            self.classes(path, tree)
            self.literals(path, tree)
            if path in CONSTRUCTORS:
                self.constructors(path, tree)
            if path in READERS:
                self.dictionaries(path, tree)
            elif path.endswith("/config.py") and not path.startswith(("inference/", "ops/")) and "get_scalar_param" in ast.unparse(tree):
                self.strangers.append(f"{path}: a new reader of configurations")
        missing = [path for path in [*READERS, *CONSTRUCTORS] if path not in self.trees]
        self.strangers += [f"{path}: is not there any more" for path in missing]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    files, version = sources(sys.argv[1])
    finder = Finder(files)
    finder.find()
    if finder.strangers:
        sys.exit("in none of this script's tables:\n  " + "\n  ".join(finder.strangers))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "deepspeed_keys.txt"), "w", encoding="utf-8") as out:
        out.write(f"# Keys that {version} reads, written by list_deepspeed_keys.py\n")
        out.writelines(key + "\n" for key in sorted(finder.keys))
    print(f"{version}: {len(finder.keys)} keys in {len(files)} files")


if __name__ == "__main__":
    main()
