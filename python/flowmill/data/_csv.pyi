# Made by python/make_stubs from the code.

from flowmill.data._dataset import Dataset

class CsvDataset(Dataset):
    def __init__(
        self,
        filenames,
        record_defaults,
        compression_type=None,
        buffer_size=None,
        header=False,
        field_delim=',',
        use_quote_delim=True,
        na_value='',
        select_cols=None,
    ) -> None: ...
def make_csv_dataset(
    file_pattern,
    batch_size,
    column_names=None,
    column_defaults=None,
    label_name: str | None = None,
    select_columns=None,
    field_delim: str = ',',
    use_quote_delim: bool = True,
    na_value: str = '',
    header: bool = True,
    num_epochs=None,
    shuffle: bool = True,
    shuffle_buffer_size=10000,
    shuffle_seed=None,
    prefetch_buffer_size=None,
    num_parallel_reads=None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type=None,
    ignore_errors: bool = False,
    encoding: str | None = 'utf-8',
) -> Dataset: ...
