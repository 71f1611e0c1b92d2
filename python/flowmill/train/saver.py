"""Saving variables in checkpoints, and restoring them."""

from __future__ import annotations

import os
import time

from flowmill._internal import protos as _protos
from flowmill._internal.apply import call
from flowmill._internal.control_flow import group, with_dependencies
from flowmill._internal.convert import constant
from flowmill._internal.device import DeviceSpec
from flowmill._internal.graph import get_default_graph
from flowmill._internal.graph_keys import prepend_name_scope, strip_name_scope
from flowmill._internal.meta_graph import export_scoped_meta_graph, import_scoped_meta_graph_with_return_elements, read_meta_graph_file
from flowmill._internal.session import Session
from flowmill.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from flowmill.train import _saveables
from flowmill.train._readers import checkpoint_exists
from flowmill.train.checkpoint_management import get_checkpoint_mtimes, meta_graph_filename, remove_checkpoint, write_state
from flowmill.train.training_util import global_step as value_of_step

_V1, _V2 = 1, 2


class Saver:
    """Writes variables to checkpoints that TensorFlow reads, and restores them from those that it wrote.

    Args:
        var_list: variables, or a dictionary of variables by the names that the checkpoint has; all that can be saved if it is None.
        reshape: gives restored tensors the shapes of the variables.
        sharded: writes a file for each device.
        max_to_keep: how many checkpoints stay, 0 or None for all.
        keep_checkpoint_every_n_hours: leaves one more checkpoint every so many hours.
        name: the name of the scope of its operations, ``"save"``.
        restore_sequentially: not used: one operation reads all tensors.
        saver_def: a `SaverDef` with the names of operations there are, instead of making some.
        builder: not used.
        defer_build: makes the operations when :meth:`build` is called.
        allow_empty: lets there be no variables; then nothing is saved.
        write_version: 1 or 2: which of TensorFlow's formats.
        pad_step_number: gives steps eight digits in names of files.
        save_relative_paths: writes paths to the state file as seen from its directory.
        filename: the name of checkpoints if none is fed.
    """

    V1, V2 = 1, 2

    def __init__(self, var_list=None, reshape: bool = False, sharded: bool = False, max_to_keep: int | None = 5,
                 keep_checkpoint_every_n_hours: float = 10000.0, name: str | None = None, restore_sequentially: bool = False, saver_def=None,
                 builder=None, defer_build: bool = False, allow_empty: bool = False, write_version: int = _V2, pad_step_number: bool = False,
                 save_relative_paths: bool = False, filename: str | None = None):
        if defer_build and var_list:
            raise ValueError("If `var_list` is provided then build cannot be deferred. Either set defer_build=False or var_list=None.")
        if write_version not in (_V1, _V2):
            raise ValueError(f"flowmill writes checkpoints of versions 1 and 2, not {write_version}.")
        self._write_version = write_version
        self._var_list, self._reshape, self._sharded, self._name = var_list, reshape, sharded, name
        self._max_to_keep, self._keep_hours = max_to_keep, keep_checkpoint_every_n_hours
        self._allow_empty, self._filename = allow_empty, filename
        self._pad_step_number, self._relative = pad_step_number, save_relative_paths
        self.saver_def = saver_def
        self._is_built, self._is_empty = False, False
        # Prefixes and when they were written, oldest first.
        self._last_checkpoints: list[tuple[str, float]] = []
        self._doomed: list[tuple[str, float]] = []
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Makes the operations, if that was deferred.

        Raises:
            ValueError: if there is nothing to save.
        """
        if self._is_built:
            return
        self._is_built = True
        if self.saver_def is None:
            objects = _saveables.default_objects() if self._var_list is None else self._var_list
            if not objects:
                if not self._allow_empty:
                    raise ValueError("No variables to save")
                self._is_empty = True
                return
            self.saver_def = self._built(objects)
        elif self._name:
            names = self.saver_def
            self.saver_def = type(names).FromString(names.SerializeToString())
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(self.saver_def, field, prepend_name_scope(getattr(names, field), self._name))
        self._check(self.saver_def)
        self._next_kept = time.time() + self.saver_def.keep_checkpoint_every_n_hours * 3600

    @staticmethod
    def _check(saver_def) -> None:
        if not hasattr(saver_def, "save_tensor_name"):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {saver_def}")
        if not saver_def.save_tensor_name:
            raise ValueError(f"saver_def must specify the save_tensor_name: {saver_def}")
        if not saver_def.restore_op_name:
            raise ValueError(f"saver_def must specify the restore_op_name: {saver_def}")

    def _built(self, objects):
        graph = get_default_graph()
        named = objects if isinstance(objects, dict) else list(objects)
        with graph.name_scope(self._name or "save"):
            with graph.name_scope("filename") as scope:
                given = constant(self._filename or "model", name="input")
                default = call("PlaceholderWithDefault", scope, given, shape=[])
            filename = call("PlaceholderWithDefault", "Const", default, shape=[])
            saveables = _saveables.saveables_of(named)
            if self._sharded:
                shards = _by_device(saveables)
                save = (_save_first_shards if self._write_version == _V1 else self._save_sharded)(filename, shards)
                restores = []
                for device, part in shards:
                    with graph.device(device):
                        restores.append(_saveables.restored(part, filename, self._reshape, "restore_shard"))
                restore = group(*restores, name="restore_all")
            else:
                save = _saved(filename, saveables, self._write_version)
                restore = _saveables.restored(saveables, filename, self._reshape, "restore_all")
        return _protos.get("SaverDef")(
            filename_tensor_name=filename.name, save_tensor_name=save.name, restore_op_name=restore.name, max_to_keep=self._max_to_keep or 0,
            sharded=self._sharded, keep_checkpoint_every_n_hours=self._keep_hours, version=self._write_version)

    @staticmethod
    def _save_sharded(filename, shards):
        graph = get_default_graph()
        with graph.device("/device:CPU:*"):
            is_remote = call("StaticRegexFullMatch", None, filename, pattern="^s3://.*")
            # Other files than the checkpoint's, until all of it is there; one store cannot rename.
            suffix = call("Select", None, is_remote, constant(".part"), constant("_temp/part"))
            prefix = call("StringJoin", None, [filename, suffix])
        count = constant(len(shards), name="num_shards")
        files, saved = [], []
        for shard, (device, part) in enumerate(shards):
            with graph.device(_cpu_of(device)):
                files.append(call("ShardedFilename", None, prefix, shard, count))
                saved.append(_saved(files[-1], part))
        with graph.control_dependencies([s.op for s in saved]), graph.device(_cpu_of(shards[-1][0])):
            with graph.name_scope("MergeV2Checkpoints") as scope:
                prefixes = call("Pack", "checkpoint_prefixes", files, axis=0)
                merged = call("MergeV2Checkpoints", scope, prefixes, filename, delete_old_dirs=True)
            with graph.control_dependencies([merged]):
                return call("Identity", None, filename)

    # Saving

    def save(self, sess, save_path, global_step=None, latest_filename: str | None = None, meta_graph_suffix: str = "meta",
             write_meta_graph: bool = True, write_state: bool = True, strip_default_attrs: bool = False, save_debug_info: bool = False):
        """Writes a checkpoint.

        Args:
            sess: the session whose variables to save.
            save_path: what names of files begin with.
            global_step: a number, or a variable or tensor of one, that the names go on with.
            latest_filename: the name of the state file, ``"checkpoint"``.
            meta_graph_suffix: the suffix of the file with the graph.
            write_meta_graph: whether to write the graph.
            write_state: whether to write the state file, and to remove checkpoints that are not kept.
            strip_default_attrs: leaves out attributes with their default values.
            save_debug_info: not used.

        Returns:
            The prefix of the checkpoint's files, what to give :meth:`restore`; None if there was nothing to save.

        Raises:
            TypeError: if `sess` is no session.
            ValueError: if names collide, or the directory does not exist.
        """
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        latest_filename = latest_filename or "checkpoint"
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        save_path = os.fspath(save_path)
        if global_step is not None:
            if not isinstance(global_step, int) and not hasattr(global_step, "__index__"):
                global_step = value_of_step(sess, global_step)
            checkpoint = f"{save_path}-{int(global_step):08d}" if self._pad_step_number else f"{save_path}-{int(global_step)}"
        else:
            checkpoint = save_path
            if os.path.basename(save_path) == latest_filename and not self._sharded:
                raise ValueError(f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{save_path}'")
        if not isinstance(sess, Session) and not hasattr(sess, "graph"):
            raise TypeError(f"'sess' must be a Session; {sess}")
        parent = os.path.dirname(save_path)
        written = None
        if not self._is_empty:
            try:
                written = sess.run(self.saver_def.save_tensor_name, {self.saver_def.filename_tensor_name: checkpoint})
            except (FailedPreconditionError, NotFoundError) as error:
                if not os.path.isdir(parent or "."):
                    raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.") from error
                raise
            written = written.decode() if isinstance(written, bytes) else str(written)
            if write_state:
                self._record(written)
                self._write_state(parent, written, latest_filename)
                self._remove_doomed(meta_graph_suffix)
        if write_meta_graph:
            with sess.graph.as_default():
                self.export_meta_graph(meta_graph_filename(checkpoint, meta_graph_suffix), strip_default_attrs=strip_default_attrs)
        return written

    def _record(self, checkpoint: str) -> None:
        if not self.saver_def.max_to_keep:
            return
        self._last_checkpoints = [c for c in self._last_checkpoints if c[0] != checkpoint]
        self._last_checkpoints.append((checkpoint, time.time()))
        while len(self._last_checkpoints) > self.saver_def.max_to_keep:
            self._doomed.append(self._last_checkpoints.pop(0))

    def _write_state(self, directory: str, newest: str, latest_filename: str) -> None:
        write_state(directory, newest, self.last_checkpoints, latest_filename, relative=self._relative)

    def _remove_doomed(self, meta_graph_suffix: str) -> None:
        for checkpoint, written in self._doomed:
            if self.saver_def.keep_checkpoint_every_n_hours and written > self._next_kept:
                self._next_kept += self.saver_def.keep_checkpoint_every_n_hours * 3600
            else:
                remove_checkpoint(checkpoint, self.saver_def.version, meta_graph_suffix)
        self._doomed = []

    def export_meta_graph(self, filename: str | None = None, collection_list=None, as_text: bool = False, export_scope: str | None = None,
                          clear_devices: bool = False, clear_extraneous_savers: bool = False, strip_default_attrs: bool = False,
                          save_debug_info: bool = False) -> _protos.MetaGraphDef:
        """Writes the default graph with the saver to a file, and returns the `MetaGraphDef`; arguments as of :func:`export_meta_graph`."""
        return export_meta_graph(
            filename, graph_def=None, saver_def=self.saver_def, collection_list=collection_list, as_text=as_text, export_scope=export_scope,
            clear_devices=clear_devices, clear_extraneous_savers=clear_extraneous_savers, strip_default_attrs=strip_default_attrs)

    # Restoring

    def restore(self, sess, save_path) -> None:
        """Restores variables, which need not be initialized.

        Args:
            sess: the session.
            save_path: what :meth:`save` gave.

        Raises:
            ValueError: if there is no such checkpoint.
            errors.NotFoundError: if it lacks a variable.
            errors.InvalidArgumentError: if a variable has another shape.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = os.fspath(save_path)
        prefix = prefix.decode() if isinstance(prefix, bytes) else prefix
        if not checkpoint_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        try:
            sess.run(self.saver_def.restore_op_name, {self.saver_def.filename_tensor_name: prefix})
        except NotFoundError as error:
            raise _explained(error, "a Variable name or other graph key that is missing") from error
        except InvalidArgumentError as error:
            raise _explained(error, "a mismatch between the current graph and the graph") from error

    # Which checkpoints there are

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, oldest first."""
        return [c for c, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints) -> None:
        """Sets the checkpoints that are kept, as if written long ago."""
        self._last_checkpoints = [(c, float("-inf")) for c in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time) -> None:
        """Sets the checkpoints that are kept and when they were written."""
        self._last_checkpoints = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths) -> None:
        """Takes up checkpoints of an earlier run, those of them that exist."""
        self._last_checkpoints = [(p, get_checkpoint_mtimes([p])[0]) for p in checkpoint_paths if checkpoint_exists(p)]

    # Messages

    def as_saver_def(self) -> _protos.SaverDef:
        """The names of its operations as a `SaverDef`."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None):
        """Returns a `SaverDef` for an export of `export_scope`; None if the saver is not of that scope."""
        if export_scope is None:
            return self.saver_def
        if not (self.saver_def.filename_tensor_name.startswith(export_scope) and self.saver_def.save_tensor_name.startswith(export_scope)
                and self.saver_def.restore_op_name.startswith(export_scope)):
            return None
        message = type(self.saver_def).FromString(self.saver_def.SerializeToString())
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            setattr(message, field, strip_name_scope(getattr(message, field), export_scope))
        return message

    @staticmethod
    def from_proto(saver_def, import_scope: str | None = None) -> Saver:
        """Returns a saver with operations there are, behind `import_scope`."""
        return Saver(saver_def=saver_def, name=import_scope)


def _saved(filename, saveables, version: int = _V2):
    """The name of the file, once `saveables` are in it."""
    specs = [spec for saveable in saveables for spec in saveable.specs]
    op, name = ("SaveSlices", "save") if version == _V1 else ("SaveV2", None)
    saved = call(op, name, filename, [s.name for s in specs], [s.slice_spec for s in specs], [s.tensor for s in specs])
    return with_dependencies([saved], filename)


def _save_first_shards(filename, shards):
    """Returns the pattern of the names of version 1's files, once each device's variables are in one of them."""
    graph = get_default_graph()
    count = constant(len(shards), name="num_shards")
    saved = []
    for shard, (device, part) in enumerate(shards):
        with graph.device(device):
            saved.append(_saved(call("ShardedFilename", None, filename, shard, count), part, _V1))
    with graph.control_dependencies([s.op for s in saved]):
        return call("ShardedFilespec", None, filename, count)


def _by_device(saveables) -> list[tuple[str, list]]:
    groups: dict[str, list] = {}
    for saveable in saveables:
        groups.setdefault(saveable.device, []).append(saveable)
    return sorted(groups.items())


def _cpu_of(device: str) -> str:
    """Returns the CPU beside a device: files are written there."""
    spec = DeviceSpec.from_string(device)
    return DeviceSpec(job=spec.job, replica=spec.replica, task=spec.task, device_type="CPU", device_index=0).to_string()


def _explained(error, what: str):
    message = (f"Restoring from checkpoint failed. This is most likely due to {what} from the checkpoint. Please ensure that you have not altered the "
               f"graph expected based on the checkpoint. Original error:\n\n{error.message}")
    return type(error)(error.node_def, error.op, message)


def export_meta_graph(filename=None, meta_info_def=None, graph_def=None, saver_def=None, collection_list=None, as_text: bool = False, graph=None,
                      export_scope: str | None = None, clear_devices: bool = False, clear_extraneous_savers: bool = False,
                      strip_default_attrs: bool = False, save_debug_info: bool = False, **kwargs) -> _protos.MetaGraphDef:
    """Returns a graph with its collections as a `MetaGraphDef`, written to a file if one is named.

    Args:
        filename: the file.
        meta_info_def: what to say of the graph, completed.
        graph_def: in the place of the graph's own.
        saver_def: a `SaverDef` to go with it.
        collection_list: the names of the collections to take, all if it is None.
        as_text: writes text.
        graph: the graph, the default one if it is None.
        export_scope: takes the operations of this name scope alone, and their names without it.
        clear_devices: leaves out devices.
        clear_extraneous_savers: leaves out operations of other savers.
        strip_default_attrs: leaves out attributes with their default values.
        save_debug_info: not used.
    """
    return export_scoped_meta_graph(
        filename=filename, meta_info_def=meta_info_def, graph_def=graph_def, saver_def=saver_def, collection_list=collection_list, as_text=as_text,
        graph=graph, export_scope=export_scope, clear_devices=clear_devices, clear_extraneous_savers=clear_extraneous_savers,
        strip_default_attrs=strip_default_attrs, **kwargs)[0]


def import_meta_graph(meta_graph_or_file, clear_devices: bool = False, import_scope: str | None = None, **kwargs) -> Saver | None:
    """Adds a `MetaGraphDef`, or the one in a file, to the default graph with its collections.

    Args:
        meta_graph_or_file: the message, or the file's name.
        clear_devices: leaves out devices.
        import_scope: the prefix of all names.
        kwargs: `input_map`, as of `import_graph_def`.

    Returns:
        The saver that came with it, or a new one for its variables; None if it has none.
    """
    message = meta_graph_or_file if hasattr(meta_graph_or_file, "graph_def") else read_meta_graph_file(meta_graph_or_file)
    found, _ = import_scoped_meta_graph_with_return_elements(message, clear_devices=clear_devices, import_scope=import_scope, **kwargs)
    if message.HasField("saver_def"):
        scope = import_scope
        if not scope and found:
            # The variables' names say in which scope everything came to lie.
            name = sorted(found)[0]
            whole = found[name].name
            scope = whole[: -len(name)].rstrip("/") if whole.endswith(name) else ""
        return Saver(saver_def=_protos.get("SaverDef").FromString(message.saver_def.SerializeToString()), name=scope)
    return Saver() if _saveables.default_objects(import_scope) else None
