"""
The native half of bitmma.
"""

from _typeshed import Incomplete, SupportsGetItem, SupportsLenAndGetItem
from os import PathLike
from typing import Any, SupportsFloat, SupportsIndex, final
from typing_extensions import disjoint_base

@final
class Blocks:
    """
    What came of the blocks of a campaign so far, in memory or in a file.
    """
    def __new__(cls, /, identity: str, folder: str | PathLike[str] | None = None, shard: str = "1/1", resume: bool = False) -> Blocks:
        """
        Of a campaign or one shard of it; with a folder, those that are in its file, to which more will be written.
        """
    def add(self, /, line: str) -> None:
        """
        Takes a line that a campaign gave. A block that it has already must be the same.
        """
    def counts(self, /) -> tuple[int, int, int, int]:
        """
        Blocks that are there, of how many, their dot products, and how many of these differ.
        """
    @staticmethod
    def merge(paths: SupportsGetItem[int, str | PathLike[str]]) -> Blocks:
        """
        Those of several files of one campaign.
        """
    def missing(self, /, first: SupportsIndex, count: SupportsIndex) -> list[int]:
        """
        The numbers of the shard's blocks that are not there yet, `count` at most, from block `first` on.
        """
    def summary(self, /) -> str:
        """
        All taken together, as JSON.
        """

@final
class Campaign:
    """
    A unit, the model it is compared with, and what it is asked.
    """
    def __new__(cls, /, unit: str, *, tests: SupportsIndex = 1000000, seed: SupportsIndex = 0, model: str | None = None, against: str | None = None, revision_name: str = "hardware", strict_nan: bool = False, start_limit: SupportsFloat | SupportsIndex = 30.0, batch_limit: SupportsFloat | SupportsIndex = 120.0) -> Campaign:
        """
        Opens the unit; the model is that of the TOML text, or of the instruction `against`, or of the one that
        the unit names. The limits are seconds.
        """
    @property
    def about(self, /) -> tuple[str | None, str | None]:
        """
        Device and driver, where the unit says them.
        """
    @property
    def dot_products(self, /) -> int:
        """
        Dot products, directed and random.
        """
    @property
    def identity(self, /) -> str:
        """
        What two campaigns must have in common to be one, as JSON.
        """
    def run(self, /, blocks: SupportsGetItem[int, SupportsIndex], each: Any) -> None:
        """
        Asks the unit these blocks; `each` gets what came of one, as a line of JSON, as soon as it exists.
        What it raises ends the run.
        """

@final
class Document:
    """
    A result as people read it.
    """
    def __new__(cls, /, json: str) -> Document:
        """
        From what `__reduce__` gives.
        """
    def __reduce__(self, /) -> tuple[Any, tuple]: ...
    def html(self, /) -> str:
        """
        The body of a page.
        """
    def text(self, /, width: SupportsIndex | None = None) -> str:
        """
        The lines that the command prints, without color; folded to so many columns, if a width is given.
        """

@final
class Explorer:
    """
    A server of the explorer's page, which runs until it is stopped.
    """
    def __new__(cls, /, state: str = "", port: SupportsIndex | None = None) -> Explorer:
        """
        Starts on a port of the loopback address: one that is free, or this one. The page shows `state`, if one is given.
        """
    @property
    def address(self, /) -> str:
        """
        Where the page is, token and state included.
        """
    @property
    def is_running(self, /) -> bool:
        """
        Whether it runs.
        """
    def stop(self, /) -> None:
        """
        Stops it; the address leads nowhere from then on.
        """

@final
class Format:
    """
    A format: of floating point the widths of its fields, its bias, its special codes; or of integers.
    """
    def __eq__(self, value: object, /) -> bool: ...
    def __hash__(self, /) -> int: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __repr__(self, /) -> str: ...
    def __str__(self, /) -> str: ...
    @property
    def bias(self, /) -> int:
        """
        What is subtracted from the exponent field of a normal number.
        """
    @property
    def bits(self, /) -> int:
        """
        Width of a code, in bits: sign, exponent, fraction and padding.
        """
    @property
    def bytes(self, /) -> int:
        """
        Bytes of one code in an array: 1, 2, 4 or 8; codes of fewer than 8 bits take one byte each.
        """
    def display(self, /, code: SupportsIndex) -> str:
        """
        A code's value as the shortest decimal that names it.
        """
    @property
    def dtype(self, /) -> str | None:
        """
        The dtype of NumPy, ml_dtypes and PyTorch that holds it, None where there is none.
        """
    @property
    def exponent_bits(self, /) -> int:
        """
        Width of the exponent field, in bits; 0 of integers.
        """
    @property
    def fraction_bits(self, /) -> int:
        """
        Width of the fraction field, in bits.
        """
    @property
    def infinity_code(self, /) -> int | None:
        """
        The code of positive infinity, None where the format has none.
        """
    @property
    def integer(self, /) -> bool:
        """
        Whether its numbers are integers: s32, s8, u8, s4, u4, b1.
        """
    @property
    def max_exponent(self, /) -> int:
        """
        The exponent of the largest finite number.
        """
    @property
    def max_finite_code(self, /) -> int:
        """
        The code of the largest finite number.
        """
    @property
    def min_exponent(self, /) -> int:
        """
        The exponent of the smallest normal number.
        """
    @property
    def min_normal_code(self, /) -> int:
        """
        The code of the smallest normal number.
        """
    @property
    def name(self, /) -> str:
        """
        The name used everywhere in the project, lower case.
        """
    @property
    def nan_code(self, /) -> int | None:
        """
        The code of the quiet NaN, None where the format has none.
        """
    @property
    def one_code(self, /) -> int:
        """
        The code of the number one.
        """
    @property
    def padding_bits(self, /) -> int:
        """
        Low bits of the container that carry no information (13 for TF32 in an FP32 word).
        """
    @property
    def signed(self, /) -> bool:
        """
        Whether there are negative numbers.
        """
    @property
    def standard(self, /) -> str:
        """
        The document that defines the format.
        """

@final
class Instruction:
    """
    An instruction of one architecture, with an M and an N that it has.
    """
    def __repr__(self, /) -> str: ...
    def _repr_html_(self, /) -> str: ...
    @property
    def a(self, /) -> str:
        """
        The format of A.
        """
    @property
    def aliases(self, /) -> list[str]:
        """
        Further spellings: full PTX, SASS, HIP builtin, older names.
        """
    @property
    def architecture(self, /) -> str:
        """
        The architecture's name: `hopper`.
        """
    @property
    def b(self, /) -> str:
        """
        The format of B.
        """
    @property
    def blocks(self, /) -> int:
        """
        Independent products that one instruction computes.
        """
    @property
    def c(self, /) -> str:
        """
        The format of C.
        """
    @property
    def d(self, /) -> str:
        """
        The format of D.
        """
    @property
    def evidence(self, /) -> str:
        """
        `recorded`, `printed`, `defined` (by the vendor's manual) or `inferred`.
        """
    @property
    def evidence_text(self, /) -> str:
        """
        The evidence for the model in words.
        """
    @property
    def family(self, /) -> str:
        """
        The family, as its vendor names it: `wgmma.mma_async`.
        """
    @property
    def k(self, /) -> int:
        """
        Columns of A, rows of B.
        """
    @property
    def m(self, /) -> int:
        """
        Rows of A and D.
        """
    def model(self, /, revision: str = "hardware") -> str:
        """
        The model as TOML, to be edited and run like any other.
        """
    @property
    def n(self, /) -> int:
        """
        Columns of B and D.
        """
    @property
    def name(self, /) -> str:
        """
        The instruction's name for this M and N.
        """
    @property
    def native(self, /) -> bool:
        """
        Whether the hardware has it as one instruction.
        """
    def precision(self, /, revision: str = "hardware") -> str:
        """
        The internal precision in one line: what is exact, what is cut where, how results are rounded.
        """
    @property
    def row(self, /) -> str:
        """
        The name with ranges where M or N has one: `wgmma.m64n{8..256}k16.f32.f16.f16`.
        """
    @property
    def scale(self, /) -> tuple[str, int] | None:
        """
        Format of the scale factors and how many elements share one; None where there are none.
        """
    @property
    def unknown(self, /) -> str | None:
        """
        Why the model is not known; None where it is.
        """

@final
class Model:
    """
    What is computed for each element of D; words are those of `docs/models.md`.
    """
    @property
    def a(self, /) -> Format:
        """
        Format of A.
        """
    @property
    def b(self, /) -> Format:
        """
        Format of B.
        """
    @property
    def c(self, /) -> Format:
        """
        Format of C.
        """
    @property
    def container(self, /) -> Format:
        """
        The format of the words that its numbers are kept in.
        """
    @property
    def d(self, /) -> Format:
        """
        Format of D.
        """
    @property
    def family(self, /) -> str:
        """
        The model family.
        """
    @property
    def flush_accumulator(self, /) -> str:
        """
        The same of C.
        """
    @property
    def flush_operands(self, /) -> str:
        """
        `never`, `positive` or `signed`.
        """
    def get(self, /, key: str, default: Any | None = None) -> Any:
        """
        A parameter of the family.
        """
    @property
    def length(self, /) -> int:
        """
        L: products in one elementary operation.
        """
    @property
    def lowering(self, /) -> dict:
        """
        What surrounds the operation: formats, and conversions as their rounding and their format.
        """
    @property
    def nan(self, /) -> int | None:
        """
        The code of a NaN result; None where D are integers.
        """
    @property
    def numbers(self, /) -> dict:
        """
        Further parameters of the family, by their keys in a model file.
        """
    @property
    def order(self, /) -> list[int] | None:
        """
        In which order the elements of an instruction enter; None where that is their own.
        """
    @property
    def result(self, /) -> Format:
        """
        Its format.
        """
    @property
    def rho(self, /) -> str:
        """
        The conversion of each operation's result, as a model file has it: `RNE-FP32`, `RZ-E8M13`, `RNE-FP16 ftz`.
        """
    @property
    def rounding(self, /) -> str:
        """
        How it rounds.
        """
    @property
    def scale(self, /) -> tuple[Format, int] | None:
        """
        Format of the scale factors, and how many elements share one.
        """
    @property
    def step(self, /) -> int:
        """
        Elements along K of one instruction.
        """

@final
class Prepared:
    """
    An operand B, K×N, prepared for a unit.
    """
    @property
    def is_streamed(self, /) -> bool:
        """
        Whether a kernel streams it; else its codes are kept, and packed for each product.
        """
    @property
    def nbytes(self, /) -> int:
        """
        The bytes it takes.
        """
    @property
    def shape(self, /) -> tuple[int, int]:
        """
        K and N.
        """

@final
class Ptx:
    """
    A PTX text, read.
    """
    def __new__(cls, /, text: str) -> Ptx: ...
    def compile(self, /, compiled: tuple[str, str | None, SupportsGetItem[int, str | PathLike[str]], SupportsGetItem[int, str]], entry: str | None = None, target: str | None = None) -> PtxKernel:
        """
        An entry, compiled.
        `compiled`: mode, fusion, folders of ptxas and nvdisasm, options of ptxas.
        """
    def entries(self, /) -> list[str]:
        """
        The names of the entries.
        """
    def survey(self, /, entry: str | None = None, target: str | None = None) -> list[tuple[str, list[int], str, str]]:
        """
        Every form of an entry: its name, its lines, a word for how its result is known, and what there is to say besides.
        """
    def target(self, /) -> str:
        """
        The architecture it was compiled for.
        """
    def variables(self, /) -> list[tuple[str, int, bool, bytes]]:
        """
        Its variables in global and constant memory: name, bytes, whether it is constant, its first bytes.
        """

@final
class PtxKernel:
    """
    An entry of a PTX text, compiled.
    """
    def describe(self, /) -> dict:
        """
        What is known of it before it runs.
        """
    def launch(self, /, grid: tuple[SupportsIndex, SupportsIndex, SupportsIndex], arguments: SupportsGetItem[int, tuple[SupportsIndex, SupportsIndex] | tuple[SupportsIndex, SupportsIndex, tuple[SupportsIndex, SupportsIndex, bool, tuple[SupportsIndex, SupportsLenAndGetItem[SupportsIndex], SupportsLenAndGetItem[SupportsIndex]]], SupportsGetItem[int, SupportsIndex], SupportsGetItem[int, SupportsIndex], SupportsGetItem[int, SupportsIndex], SupportsGetItem[int, SupportsIndex]] | tuple[SupportsGetItem[int, SupportsIndex], SupportsGetItem[int, tuple[SupportsIndex, SupportsIndex, SupportsIndex]]] | SupportsIndex | SupportsFloat | None], buffers: SupportsGetItem[int, Incomplete], hosts: SupportsGetItem[int, SupportsIndex], names: SupportsGetItem[int, str], *, block: tuple[SupportsIndex, SupportsIndex, SupportsIndex] | None = None, cluster: tuple[SupportsIndex, SupportsIndex, SupportsIndex] | None = None, allow_doubtful: bool = False, shared: SupportsIndex | None = None, loop_limit: SupportsIndex | None = None, threads: SupportsIndex | None = None, trace: tuple[SupportsGetItem[int, SupportsLenAndGetItem[SupportsLenAndGetItem[SupportsIndex]]], SupportsGetItem[int, SupportsIndex], SupportsGetItem[int, str], bool, tuple[SupportsIndex, SupportsIndex] | None] | None = None, variables: dict[str, SupportsGetItem[int, SupportsIndex]] | None = None) -> tuple[list[Incomplete | None], int, dict]:
        """
        Runs it on buffers of bytes, which stay as they are: for each of them what it holds after the launch, or None where nothing
        was written; instructions that ran; what was traced. `trace` has threads (block and thread), lines, registers, whether
        products are wanted, and a byte whose last writer is.
        """

@final
class Schedule:
    """
    The order of a product: everything between an instruction and D (`bitmma::gemm`).
    """
    @property
    def c(self, /) -> str:
        """
        When C enters: `never`, `first` (as the accumulator), `sum` (the promoted sum starts from it), `last`.
        """
    @property
    def converts(self, /) -> str | None:
        """
        How it is converted, where that is not to nearest even with infinity beyond the largest number and the format's NaN.
        """
    @property
    def factors(self, /) -> tuple[float, float] | None:
        """
        alpha and beta, where AB and C are multiplied by them.
        """
    @property
    def output(self, /) -> str | None:
        """
        The format that D is converted to; None: the instruction's.
        """
    @property
    def parts(self, /) -> list[list[tuple[int, int]]]:
        """
        Part by part, the first instruction along K of each chain and the one after its last.
        """
    @property
    def promoted(self, /) -> bool:
        """
        Whether results of a part's chains are added to a sum; otherwise a part is one chain.
        """
    @property
    def scale_blocks(self, /) -> tuple[int, int, int] | None:
        """
        Rows of A, columns of B and elements of K (0: all) that share an FP32 scale.
        """
    @property
    def working(self, /) -> str:
        """
        The format of sums and factors around the instruction: f32, or f64.
        """

@final
class Section:
    """
    A part of the report.
    """
    def html(self, /) -> str:
        """
        The part as HTML, for a notebook.
        """
    def json(self, /) -> str:
        """
        Everything as JSON: what `bitmma analyze --json` prints.
        """
    def png(self, /, figure: str) -> bytes:
        """
        A figure as a PNG file.
        """
    def svg(self, /, figure: str) -> str:
        """
        A figure, drawn.
        """

@disjoint_base
class Unit:
    """
    An instruction that is simulated by its model, or a model without an instruction.
    """
    def __new__(cls, /, native: Unit, instruction: Instruction | None = None, revision: str = ...) -> Unit:
        """
        The same unit as an object of `bitmma.Unit`.
        """
    def _repr_html_(self, /) -> str: ...
    @property
    def _revision(self, /) -> str:
        """
        `hardware` or `paper`.
        """
    @property
    def a(self, /) -> str:
        """
        Format of A.
        """
    @property
    def b(self, /) -> str:
        """
        Format of B.
        """
    @property
    def c(self, /) -> str:
        """
        Format of C.
        """
    @property
    def d(self, /) -> str:
        """
        Format of D.
        """
    def factors(self, /, alpha: SupportsFloat | SupportsIndex | None, beta: SupportsFloat | SupportsIndex | None) -> tuple[float, float]:
        """
        alpha and beta of a GEMM, rounded to the working format; one by default.
        """
    @property
    def has_kernel(self, /) -> bool:
        """
        Whether a fast kernel computes GEMMs of it; else the reference path does.
        """
    @property
    def instruction(self, /) -> Instruction | None:
        """
        The row of the catalogue; None for a model.
        """
    @property
    def model(self, /) -> Model:
        """
        The model, as kernels on a GPU take it.
        """
    @property
    def name(self, /) -> str:
        """
        The instruction, or the model's family.
        """
    @staticmethod
    def of_instruction(instruction: Instruction, revision_name: str) -> Unit:
        """
        The unit of an instruction.
        """
    @staticmethod
    def of_model(toml: str, step: SupportsIndex | None = None) -> Unit:
        """
        The unit of a model in TOML, `step` elements along K at a time.
        """
    @property
    def scale(self, /) -> tuple[str, int] | None:
        """
        Format of the scale factors and how many elements share one; None where there are none.
        """
    @property
    def shape(self, /) -> tuple[int, int, int, int] | None:
        """
        Blocks, M, N and K of the instruction; None for a model, which takes any.
        """
    @property
    def step(self, /) -> int:
        """
        Elements along K at a time.
        """
    @property
    def toml(self, /) -> str:
        """
        The model as data: edit it, and run it like any other.
        """
    @property
    def working_format(self, /) -> str:
        """
        The format in which a GEMM adds partial results: f32, or f64.
        """

def account(unit: Unit, operands: tuple[Any, Any, Any | None, Any | None, Any | None], element: tuple[SupportsIndex, SupportsIndex] = ...) -> dict:
    """
    The account of one element, row and column.
    """

def architecture(name: str) -> str:
    """
    The architecture that a name, a compiler target or a chip means: `hopper` for `h100` and `sm_90a`.
    """

def architectures() -> list[str]:
    """
    The architectures' names, by vendor and age.
    """

def assess(unit: Unit, *, k: SupportsIndex | None = None, seed: SupportsIndex = 1) -> list[dict]:
    """
    The verdicts on one unit.
    """

def assess_all(*, revision_name: str = "hardware", seed: SupportsIndex = 1, threads: SupportsIndex | None = None) -> list[dict]:
    """
    The verdicts on every model of the catalogue.
    """

def bias_distributions(*, instructions: SupportsIndex = 1000, revision_name: str = "hardware", seed: SupportsIndex = 1, threads: SupportsIndex | None = None, progress: Any | None = None) -> str:
    """
    D minus the exact result, for that many instructions of CDNA3, as JSON.
    """

def bias_growth(lengths: SupportsGetItem[int, SupportsIndex], *, products: SupportsIndex = 24, distribution: str = "normal", scale: SupportsFloat | SupportsIndex = 10.0, revision_name: str = "hardware", seed: SupportsIndex = 1, threads: SupportsIndex | None = None, progress: Any | None = None) -> str:
    """
    The errors of growing chains, as JSON.
    """

def check_scaled_mm(platform: str, shape: tuple[SupportsIndex, SupportsIndex, SupportsIndex], inner: SupportsIndex, dtypes: tuple[str, str, str], *, dimensions: tuple[SupportsIndex, SupportsIndex] = ..., scales: tuple[tuple[SupportsIndex, SupportsIndex], tuple[SupportsIndex, SupportsIndex]] | None = None, scale_result_fits: bool = True, bias: tuple[str, SupportsIndex] | None = None, row_major_a: bool = True, column_major_b: bool = True, aligned: bool = True) -> None:
    """
    Raises what torch or cuBLASLt would reject a call of `torch._scaled_mm` for.
    """

def choose(architecture: str, a: str, b: str, accumulate: str | None = None, scale: tuple[str, SupportsIndex | None] | None = None) -> Instruction:
    """
    The instruction a library would take for these formats; `accumulate` and the size of blocks are a library's own
    where nothing is said.
    """

def compare(values: tuple[SupportsGetItem[int, str], SupportsGetItem[int, str], str] | None, architectures: SupportsGetItem[int, str] | None = None, *, round: bool = False, composed: bool = False, revision_name: str = "hardware") -> tuple[dict, Document]:
    """
    Results by architecture; values are text that every format reads for itself. Without A the paper's Equation 1. The fields,
    and the document.
    """

def compile_cuda(folders: SupportsGetItem[int, str | PathLike[str]], source: str, name: str, target: str, options: SupportsGetItem[int, str], expressions: SupportsGetItem[int, str]) -> tuple[str, list[str], str, str]:
    """
    CUDA C++ compiled to PTX: the text, the entry of each name expression, what NVRTC warns of, and its release. `folders`: where it is
    looked for first.
    """

def decide_call(platform: str, shape: tuple[SupportsIndex, SupportsIndex, SupportsIndex], formats: tuple[str, str, str], fast: bool, *, scales: tuple[tuple[SupportsIndex, SupportsIndex], tuple[SupportsIndex, SupportsIndex]] | None = None, plan: str | None = None, plan_file: str | PathLike[str] | None = None, lt_config: str | None = None, parts: SupportsIndex | None = None, merge: str = "serial", table: str | PathLike[str] | None = None, workspace: SupportsIndex | None = None, assume: SupportsGetItem[int, str] = ...) -> str:
    """
    The plan of a call as JSON: platform, origin, evidence, source, assumed, plan.
    """

def decode(codes: Any, format: str) -> Any:
    """
    The float64 words of codes (in one dimension); exact for every format.
    """

def diff_plans(left: str | PathLike[str], right: str | PathLike[str], *, threads: SupportsIndex | None = None) -> tuple[str, Document]:
    """
    The plans in two files compared, as JSON and as a document.
    """

def diff_units(left: Unit, right: Unit, names: tuple[str, str], *, threads: SupportsIndex | None = None) -> tuple[str, Document]:
    """
    Two units compared, as JSON and as a document.
    """

def difference_matrix(units: SupportsGetItem[int, Unit], *, each: SupportsIndex = 4000, seed: SupportsIndex = 1, threads: SupportsIndex | None = None) -> tuple[int, tuple[int, int], list[list[int]], list[list[tuple[int, int]]]]:
    """
    Every pair, on that many cases of every family.
    """

def encode(words: Any, format: str, rounding_rule: str, overflow_rule: str, nan: SupportsIndex | None = None) -> Any:
    """
    Codes of `format` for the float64 or float32 numbers whose bits are `words`. NaN becomes the code `nan`; without one
    it is refused where the format has none.
    """

def encode_integer(value: int, format: str, rounding_rule: str, overflow_rule: str) -> int:
    """
    The code of `format` for an integer of any size.
    """

def encode_words(words: Any, signed: bool, format: str, rounding_rule: str, overflow_rule: str) -> Any:
    """
    Codes of `format` for the integers in `words`: uint64, or int64's bits where `signed`.
    """

def error_sources(unit: Unit, k: SupportsIndex | None = None) -> list[tuple[str, str]]:
    """
    Where a unit's errors come from, each with the bound of one elementary operation in words.
    """

def evaluate_function(form: str, chip: str, words: Any, assume: bool) -> tuple[Any, str | None]:
    """
    The results of a PTX instruction for FP32 codes (in one dimension), and what was assumed for that.
    """

def exact_errors(unit: Unit, operands: tuple[Any, Any, Any | None, Any | None, Any | None], d: Any, d_format: str) -> Any:
    """
    D, of any format, minus the exact product: float64.
    """

def explain(unit: Unit, operands: tuple[Any, Any, Any | None, Any | None, Any | None], element: tuple[SupportsIndex, SupportsIndex, SupportsIndex] = ...) -> tuple[list, int]:
    """
    The steps of one element of D, and its code; `element` is block, row, column.
    """

def explain_picture(unit: Unit, operands: tuple[Any, Any, Any | None, Any | None, Any | None], element: tuple[SupportsIndex, SupportsIndex, SupportsIndex]) -> Document:
    """
    The same as `bitmma explain` prints it.
    """

def figure_svg(json: str) -> str:
    """
    A figure, drawn; given as the JSON of one in a report.
    """

def find(architecture: str, instruction: str) -> Instruction:
    """
    The instruction that a name or an alias means.
    """

def fingerprint(array: Any) -> int:
    """
    A fingerprint of the elements of an array of unsigned integers, as they lie in memory; other in each process.
    """

def follow_call(plan: str, operands: tuple[Any, Any], formats: tuple[str, str, str], scales: tuple[SupportsIndex, SupportsIndex, SupportsIndex | None], row: SupportsIndex, column: SupportsIndex, *, blocks: tuple[Any, Any] | None = None) -> tuple[list[str], int]:
    """
    One element of a call through parts and merge, a line each, and its code.
    """

def follow_element(unit: Unit, operands: tuple[Any, Any, Any | None, Any | None, Any | None], element: tuple[SupportsIndex, SupportsIndex, SupportsIndex], *, d: Any | None = None, split_k: SupportsIndex | None = None, promote_every: SupportsIndex | None = None, c_last: bool = False) -> tuple[str, Document]:
    """
    One element of a whole product, step by step, as JSON and as a document; `d` is a D to compare with.
    """

def format_named(name: str) -> Format:
    """
    The format of that name, compared without case.
    """

def formats() -> list[Format]:
    """
    Every format: those of floating point widest first, then integers.
    """

def gemm(unit: Unit, operands: tuple[Any, Any, Any | None, Any | None, Any | None], *, threads: SupportsIndex | None = None, progress: Any | None = None, **keywords: "Any") -> tuple[Any, str]:
    """
    D = alpha · A·B + beta · C, and the format D is in.

    An exception that `progress` raises ends the product.
    """

def html_document(title: str, lead: str, sections: SupportsGetItem[int, tuple[str, str, str]]) -> str:
    """
    A page: its title, what comes first, and sections (anchor, title, body); bodies are HTML.
    """

def html_fragment(body: str) -> str:
    """
    A piece of HTML with the style of the pages, for a notebook.
    """

def html_heat(head: SupportsGetItem[int, str], rows: SupportsGetItem[int, tuple[str, SupportsGetItem[int, tuple[SupportsFloat | SupportsIndex, str, str]]]]) -> str:
    """
    A heat map of texts: the name of a row, and of each cell how hot it is (0 to 100), its text, and what a pointer is told.
    """

def html_table(head: SupportsGetItem[int, str], rows: SupportsGetItem[int, SupportsGetItem[int, str]], *, words: bool = False) -> str:
    """
    A table of texts; columns after the first hold numbers, unless `words`.
    """

def html_terminal(text: str) -> str:
    """
    What a terminal shows, as HTML.
    """

def instructions(architecture: str | None = None, format: str | None = None, model: str | None = None) -> list[Instruction]:
    """
    The rows of the catalogue that have this architecture, this format, this model family.
    """

def measure_designs(units: SupportsGetItem[int, Unit], operands: tuple[Any, Any, Any | None, Any | None, Any | None], *, threads: SupportsIndex | None = None) -> str:
    """
    Models as designs of A·B, all on one product, as JSON.
    """

def multiply(unit: Unit, operands: tuple[Any, Any, Any | None, Any | None, Any | None]) -> Any:
    """
    D of one instruction.
    """

def order_in_words(k_step: SupportsIndex | None, split_k: SupportsIndex | None, promote_every: SupportsIndex | None, c_last: bool | None, output: str | None, saturate: bool | None, call: str | None) -> str:
    """
    An order along K in words.
    """

def pack(bits: SupportsIndex, codes: Any) -> Any:
    """
    Codes of `bits` bits, one a byte, packed into bytes without gaps.
    """

def portable_add_at(count: SupportsIndex, width: SupportsIndex, rows: SupportsIndex, index: SupportsIndex, source: tuple[SupportsIndex, SupportsIndex], to: SupportsIndex) -> bool:
    """
    Adds each row of a source to the row of an FP64 array that an index names; whether all indices were in range.
    """

def portable_along(name: str, rows: SupportsIndex, length: SupportsIndex, output: tuple[SupportsIndex, SupportsIndex], x: tuple[SupportsIndex, SupportsIndex], y: tuple[SupportsIndex, SupportsIndex] = ...) -> None:
    """
    A row from each row, or from each two rows.
    """

def portable_apply(name: str, length: SupportsIndex, output: tuple[SupportsIndex, SupportsIndex], x: tuple[SupportsIndex, SupportsIndex], y: tuple[SupportsIndex, SupportsIndex] = ..., z: tuple[SupportsIndex, SupportsIndex] = ..., p: SupportsFloat | SupportsIndex = 0.0, q: SupportsFloat | SupportsIndex = 0.0, r: SupportsFloat | SupportsIndex = 0.0) -> None:
    """
    The values of a function for each element of arrays of one length.
    """

def portable_canonical(length: SupportsIndex, array: tuple[SupportsIndex, SupportsIndex]) -> None:
    """
    Gives every NaN of an array the positive sign and no payload.
    """

def portable_layer_norm(rows: SupportsIndex, length: SupportsIndex, output: tuple[SupportsIndex, SupportsIndex], means: tuple[SupportsIndex, SupportsIndex], factors: tuple[SupportsIndex, SupportsIndex], input: tuple[SupportsIndex, SupportsIndex], weight: tuple[SupportsIndex, SupportsIndex], bias: tuple[SupportsIndex, SupportsIndex], epsilon: SupportsFloat | SupportsIndex) -> None:
    """
    The layer norm of rows: results, means and factors; weight and bias have address 0 where there are none.
    """

def portable_reduce(name: str, rows: SupportsIndex, length: SupportsIndex, output: tuple[SupportsIndex, SupportsIndex], input: tuple[SupportsIndex, SupportsIndex], parameter: SupportsFloat | SupportsIndex = 0.0) -> None:
    """
    One number from each row.
    """

def prepare(unit: Unit, b: Any, scale_b: Any | None = None, threads: SupportsIndex | None = None) -> Prepared:
    """
    B, K×N, prepared for a unit, with its scale factors.
    """

def probe(call: Any, name: str, shape: tuple[SupportsIndex, SupportsIndex, SupportsIndex, SupportsIndex], formats: tuple[str, str, str, str], scale: tuple[str, SupportsIndex] | None = None, *, tests: SupportsIndex = 1000000, seed: SupportsIndex = 1, log: str | PathLike[str] | None = None, resume: bool = False, progress: Any | None = None) -> dict:
    """
    Finds out how a function computes; it takes stacks of codes (batch, blocks, rows, columns) A, B and C
    and a pair of such scale factors or None, and gives all codes of D.

    An exception that it or `progress` raises ends the probe.
    """

def product_bounds(unit: Unit, operands: tuple[Any, Any, Any | None, Any | None, Any | None], *, promote_every: SupportsIndex | None = None, threads: SupportsIndex | None = None) -> dict:
    """
    What each element of a product lost, and could have lost.
    """

def promotion(architecture: str) -> int | None:
    """
    The elements along K after which a library without fast accumulation moves the sum to FP32.
    """

def read_recording(path: str | PathLike[str]) -> list[dict]:
    """
    Reads a recording: one dictionary a line, with the keys of its header; codes are whole numbers, `d` is
    None where any NaN agrees.
    """

def replay(paths: SupportsGetItem[int, str | PathLike[str]], revision_name: str = "hardware", strict_nan: bool = False) -> list[tuple[str, str, int, int, int | None, str | None]]:
    """
    Holds recordings against the instructions' models: architecture, instruction, how many dot products,
    how many differ, and of the first that does the line and the recording.
    """

def report_parts() -> list[str]:
    """
    The names of the report's parts, in its order.
    """

def report_section(name: str, choices: Incomplete, *, threads: SupportsIndex | None = None, progress: Any | None = None) -> Section:
    """
    One part.
    """

def run_call(plan: str, operands: tuple[Any, Any], formats: tuple[str, str, str], scales: tuple[SupportsIndex, SupportsIndex, SupportsIndex | None], *, blocks: tuple[Any, Any] | None = None, threads: SupportsIndex | None = None) -> Any:
    """
    D of a call under a plan, as codes; scales are FP32 codes.
    """

def run_command(arguments: SupportsGetItem[int, str]) -> int:
    """
    Runs the command with these arguments, the name of the command first, and returns its exit code: 0 done, or
    everything agrees; 1 something differs; 2 an error. It writes to the process's own streams.
    """

def scale_blocks(shape: tuple[SupportsIndex, SupportsIndex, SupportsIndex], a: tuple[SupportsIndex, SupportsIndex], b: tuple[SupportsIndex, SupportsIndex]) -> tuple[int, int, int] | None:
    """
    Rows of A and columns of B that share FP32 scales of these shapes, and elements along K; None where they are not of blocks.
    """

def schedule(unit: Unit, a: tuple[SupportsIndex, SupportsIndex, SupportsIndex], b: tuple[SupportsIndex, SupportsIndex, SupportsIndex], c: tuple[SupportsIndex, SupportsIndex, SupportsIndex] | None = None, scale_a: tuple[SupportsIndex, SupportsIndex, SupportsIndex] | None = None, scale_b: tuple[SupportsIndex, SupportsIndex, SupportsIndex] | None = None, **keywords: "Any") -> Schedule:
    """
    The schedule of a product of operands of these shapes (batch, rows, columns), which are checked as `gemm` checks them.
    """

def simulate(unit: Unit, operands: tuple[Any, Any, Any | None, Any | None, Any | None], reference: bool) -> Any:
    """
    D by the unit's model for any M and N and any K that the model takes, by its kernel or on the reference path.
    """

def smallest_difference(left: Unit, right: Unit, *, k: SupportsIndex | None = None, budget: SupportsIndex = 700000, seed: SupportsIndex = 1, threads: SupportsIndex | None = None) -> tuple[dict, Document]:
    """
    The smallest input of K elements on which two units differ: its fields, and the document.
    """

def tally(kind: str, ours: Any, theirs: Any, *, sizes: bool = True) -> tuple[int, float, float, int | None, int, list[int]]:
    """
    How many elements of two arrays of words differ, the largest difference, the norm of all over that of the first array, the
    first place, how many are finite in one only, and how many codes they are apart by powers of two.

    `kind` is a format, `int` or `uint`. The arrays are read in place: nobody may write to them meanwhile. Without `sizes`
    only the first number is found.
    """

def unpack(bits: SupportsIndex, packed: Any, count: SupportsIndex) -> Any:
    """
    `count` codes of `bits` bits out of bytes, one a byte.
    """

def who_computed(operands: tuple[Any, Any, Any | None, Any | None, Any | None], d: Any, formats: tuple[str, str, str | None, str, str | None], *, revision_name: str = "hardware", threads: SupportsIndex | None = None) -> tuple[str, Document]:
    """
    Which instructions compute D, as JSON and as a document. `formats` are those of A, B, C and D, and that of scale factors, where it is known.
    """

def workarounds(unit: Unit, operands: tuple[Any, Any, Any | None, Any | None, Any | None], *, revision_name: str = "hardware", threads: SupportsIndex | None = None) -> str:
    """
    What helps, and what it loses, as JSON.
    """

def worst_case(unit: Unit, objective: str, *, k: SupportsIndex | None = None, budget: SupportsIndex = 40000, enough: SupportsFloat | SupportsIndex = 0.95, seed: SupportsIndex = 1) -> dict | None:
    """
    The case closest to its bound that a search finds; None where nothing can be lost.
    """

def write_report(out: str | PathLike[str], names: SupportsGetItem[int, str], choices: Incomplete, build: str, *, threads: SupportsIndex | None = None, progress: Any | None = None) -> list[Section]:
    """
    The folder with these parts; finished ones of the same build and options are taken as they are.
    """

def __getattr__(name: str) -> Incomplete: ...
