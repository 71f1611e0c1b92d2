"""Makes the unwind table of a shared library small, for compression.

A linker that moves functions, as `lld --bp-compression-sort` does, leaves the entries of ``.eh_frame`` in the order of its inputs. In the order of addresses,
neighbours are alike: the compressed table is 12 % smaller. The formats are those of the Linux Standard Base, "Exception Frames".

An entry describes the stack at every instruction. Exceptions pass through calls alone, and all calls of most functions are made with one size of the frame. The
entries of such functions keep that size and leave out the steps of the prologue and of each epilogue, as tables of ``-fno-asynchronous-unwind-tables`` do: the
compressed table is another 20 % smaller. A profiler or debugger that stops inside of a prologue or epilogue may show a wrong caller.

The index ``.eh_frame_hdr``, by which unwinders search for the entry of a function, is emptied. Without it they read the table from its begin: in a library of
47,000 functions this takes 0.1 ms for each frame that a panic leaves, instead of a microsecond.
"""
import struct

PC_RELATIVE, INDIRECT_PC_RELATIVE = 0x1B, 0x9B  # DW_EH_PE_pcrel | sdata4, and the address of a pointer in the same way
OMITTED = 0xFF  # DW_EH_PE_omit
INDEX = bytes([1, PC_RELATIVE])  # the version, and the encoding of the pointer to the table
DEF_CFA_OFFSET, OFFSET, ADVANCE = 0x0E, 0x80, 0x40  # DW_CFA_*; the latter two hold an operand in their lower six bits
LONG_ADVANCES = {0x02: 1, 0x03: 2, 0x04: 4}  # DW_CFA_advance_loc1 and so on, by the size of their operands
AT_ENTRY = 8  # the size of the frame at the first instruction of a function on x86-64: the return address
X86_64 = 62  # EM_X86_64
U32, I32 = struct.Struct("<I"), struct.Struct("<i")


def section(library, wanted):
    """Returns the address, offset and size of a section of a 64-bit ELF file, or None."""
    (at,) = struct.unpack_from("<Q", library, 0x28)
    size, count, names = struct.unpack_from("<3H", library, 0x3A)
    headers = [struct.unpack_from("<2I4Q", library, at + i * size) for i in range(count)]
    for name, _, _, address, offset, length in headers:
        start = headers[names][4] + name
        if library[start:library.index(b"\0", start)] == wanted:
            return address, offset, length
    return None


def entries(table):
    """Yields the offset and the bytes of each entry up to the terminator, whose offset comes last, with no bytes."""
    at = 0
    while (length := U32.unpack_from(table, at)[0]) != 0:
        yield at, table[at:at + 4 + length]
        at += 4 + length
    yield at, b""


def correct(entry, field, distance):
    """Corrects a field of an entry that lies ``distance`` bytes lower than before. The field is relative to its own address; zero means no address."""
    (value,) = I32.unpack_from(entry, field)
    if value:
        I32.pack_into(entry, field, value + distance)


def personality_field(common):
    """Returns the place of the personality routine in a common entry, or None.

    Raises:
        ValueError: If a pointer has another encoding than those that compilers write for shared libraries.
    """
    end = common.index(b"\0", 9)
    at, place = end + 5, None  # the factors, the return address and the length of the data are a byte each
    for letter in common[9:end].decode().removeprefix("z"):
        encoding = common[at]
        at += 1
        if letter == "P":
            place, at = at, at + 4
        if encoding != (INDIRECT_PC_RELATIVE if letter == "P" else PC_RELATIVE) or letter not in "PLR":
            raise ValueError(f"unknown unwind data: {letter} with encoding {encoding:#x}")
    return place


def number(program, at):
    """Returns the unsigned LEB128 number at a place, and the place behind it."""
    value = shift = 0
    while True:
        byte = program[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if byte < 0x80:
            return value, at


def number_bytes(value):
    """Returns the bytes of an unsigned LEB128 number."""
    low = []
    while value >= 0x80:
        low.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*low, value])


def steps(program):
    """Returns the sizes of the frame in the order of the program, how many come before each saved register, and the instructions that save registers.

    Returns None for programs with other instructions.
    """
    sizes, before, saves, at = [], [], b"", 0
    while at < len(program):
        code, start = program[at], at
        at += 1
        if code == DEF_CFA_OFFSET:
            size, at = number(program, at)
            sizes.append(size)
        elif code & 0xC0 == OFFSET:
            _, at = number(program, at)
            before.append(len(sizes))
            saves += program[start:at]
        elif code in LONG_ADVANCES:
            at += LONG_ADVANCES[code]
        elif code and code & 0xC0 != ADVANCE:  # zero fills the entry up
            return None
    return sizes, before, saves


def at_calls(program):
    """Returns a program that describes the stack at the calls of a function, where that is one description, and else the program itself.

    A prologue pushes each register that it saves and makes room once, and what is saved follows its last step. Each epilogue goes back to the size at entry; code
    behind it begins with the whole frame. Arguments on the stack make other steps, and the program stays as it is.
    """
    if not (found := steps(program)) or not found[0]:
        return program
    sizes, before, saves = found
    rises = next((i for i, (low, high) in enumerate(zip([AT_ENTRY, *sizes], sizes)) if high <= low), len(sizes))
    whole = sizes[rises - 1] if rises else 0
    if rises not in (len(before), len(before) + 1) or any(place != rises for place in before):
        return program
    last = whole
    for size in sizes[rises:]:
        if not (size < last or last == AT_ENTRY and size == whole):
            return program
        last = size
    if last not in (AT_ENTRY, whole):
        return program
    return bytes([DEF_CFA_OFFSET]) + number_bytes(whole) + saves


def shortened(entry):
    """Returns a function's entry with the program that describes its calls."""
    begin = 17 + entry[16]
    new = entry[:begin] + at_calls(bytes(entry[begin:]))
    new += bytes(-len(new) % 4)
    U32.pack_into(new, 0, len(new) - 4)
    return new if len(new) < len(entry) else entry


def compacted(library, key=lambda address: address):
    """Returns a library whose unwind table is in the order of ``key`` of the functions' addresses, describes calls alone on x86-64, and has no index.

    Files that are no 64-bit ELF libraries are returned as they are.

    Raises:
        ValueError: If the table has an encoding that is not known.
    """
    frames, index = (section(library, name) for name in (b".eh_frame", b".eh_frame_hdr")) if library[:6] == b"\x7fELF\2\1" else (None, None)
    if not frames or not index:
        return library
    address, offset, size = frames
    _, index_offset, index_size = index
    if library[index_offset:index_offset + 2] != INDEX:
        raise ValueError("the index of the unwind table has an unknown encoding")
    old = library[offset:offset + size]
    *found, (end, _) = entries(old)
    table, commons, functions = bytearray(), {}, []
    shorten = library[0x12] == X86_64
    for at, entry in found:
        (back,) = U32.unpack_from(entry, 4)
        if back:
            functions.append((address + at + 8 + I32.unpack_from(entry, 8)[0], at, at + 4 - back, bytearray(entry)))
            continue
        common = bytearray(entry)
        if (place := personality_field(common)) is not None:
            correct(common, place, at - len(table))
        commons[at] = len(table)
        table += common
    functions.sort(key=lambda function: key(function[0]))
    for _, at, common, entry in functions:
        place = len(table)
        U32.pack_into(entry, 4, place + 4 - commons[common])
        correct(entry, 8, at - place)
        if entry[16] == 4:
            correct(entry, 17, at - place)
        elif entry[16]:
            raise ValueError(f"unwind data of {entry[16]} bytes")
        if shorten:
            entry = shortened(entry)
        table += entry
    table += old[end:].ljust(len(old) - len(table), b"\0")
    new = bytearray(library)
    new[offset:offset + size] = table
    new[index_offset + 2:index_offset + 4] = bytes([OMITTED, OMITTED])  # the number of entries and their encoding
    new[index_offset + 8:index_offset + index_size] = bytes(index_size - 8)
    return bytes(new)
