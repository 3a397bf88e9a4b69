# Сообщения отчётов по-русски.

## Общее

and = { $several } и { $last }
quoted = «{ $name }»
gems = { $number } { $number ->
    [one] отпечаток
    [few] отпечатка
   *[many] отпечатков
}
bytes = { $number } { $number ->
    [one] байт
    [few] байта
   *[many] байт
}
place_bytes = байты { $start }–{ $end }
place_gems = отпечатки { $start }–{ $end }
between = { $from } – { $to }
chapter = «{ $title }»
page = страница { $number }
paragraph = абзац { $number }

## Вывод и его причина

verdict_forbidden = это нельзя издавать никому; { $covered } этого текста содержится в охраняемых или запрещённых книгах
verdict_protected = { $covered } этого текста содержится в охраняемых книгах
verdict_forbidden_match = это нельзя издавать никому; этот текст совпадает с охраняемой или запрещённой книгой
verdict_protected_match = этот текст совпадает с охраняемой книгой
verdict_free = этот текст или его часть есть в книге, которую разрешено публиковать
verdict_public_domain = этот текст или его часть есть в книге, перешедшей в общественное достояние
verdict_only_allowed = текст совпадает только с книгами из списка разрешённых
verdict_none_decides = текст совпадает только с книгами, которые на вывод не влияют
verdict_rights_unknown = текст совпадает с книгой, права на которую неизвестны
verdict_no_match = Совпадений в каталоге нет
why_nothing_to_compare = в каталоге не с чем сравнивать
why_mostly_common = большая часть этого текста встречается в слишком многих книгах, поэтому вывод сделать нельзя

## Что проверено

name_text = текст
name_gems = отпечатки
common_gems = { $number ->
    [one] из них не учтён { $number }: он есть
   *[other] из них не учтено { $number }: они есть
} в слишком многих книгах одной библиотеки
allowed_gems = { $number ->
    [one] из них разрешён { $number }
   *[other] из них разрешено { $number }
}
disabled_books = { $number } { $number ->
    [one] отключённая книга, которая совпала бы
    [few] отключённые книги, которые совпали бы
   *[many] отключённых книг, которые совпали бы
}
informing_books = { $number } { $number ->
    [one] совпавшая книга, которая приведена
    [few] совпавшие книги, которые приведены
   *[many] совпавших книг, которые приведены
} только для сведения

## Признаки маскировки

disguised = Текст замаскирован: { $tricks } в { $share } слов
disguised_word = { $trick }, { $place }: { $context }
invisible = { $number } { $number ->
    [one] невидимый знак
    [few] невидимых знака
   *[many] невидимых знаков
}
look_alikes = { $number } { $number ->
    [one] буква чужого алфавита
    [few] буквы чужого алфавита
   *[many] букв чужого алфавита
}
marks = { $number } { $number ->
    [one] надстрочный или подстрочный знак
    [few] надстрочных или подстрочных знака
   *[many] надстрочных или подстрочных знаков
}
letter_spaced = { $number } { $number ->
    [one] слово вразрядку
    [few] слова вразрядку
   *[many] слов вразрядку
}
digits = { $number } { $number ->
    [one] цифра вместо буквы
    [few] цифры вместо букв
   *[many] цифр вместо букв
}
hyphens = { $number } { $number ->
    [one] дефис внутри слова
    [few] дефиса внутри слов
   *[many] дефисов внутри слов
}
markup = разметка внутри { $number } { $number ->
    [one] слова
   *[other] слов
}
misspelled = { $number } { $number ->
    [one] слово с удвоенными или переставленными буквами
    [few] слова с удвоенными или переставленными буквами
   *[many] слов с удвоенными или переставленными буквами
}
hidden_words = { $number } { $number ->
    [one] слово
    [few] слова
   *[many] слов
} ({ $share }) этого файла скрыто от читателя и не учтено: { $ways }
hidden_way = { $how } ({ $number })
hidden_attribute = помечены как скрытые
hidden_not_displayed = не отображаются
hidden_invisible = начертаны невидимо
hidden_transparent = прозрачные
hidden_same_colour = цвета фона
hidden_tiny = крошечными буквами
hidden_clipped = обрезаны
hidden_off_page = за пределами страницы
hidden_covered = закрыты
hidden_layer = на скрытом слое
hidden_deleted = удалены в режиме правки
hidden_rejected = отклонённые вставки
trick_invisible = невидимые знаки
trick_look_alikes = буквы чужого алфавита
trick_marks = надстрочные и подстрочные знаки
trick_letter_spaced = слова вразрядку
trick_digits = цифры вместо букв
trick_hyphens = дефисы внутри слов
trick_markup = разметка внутри слов
trick_misspelled = удвоенные или переставленные буквы

## Совпадение

no_title = (без названия)
on_allow_list = в списке разрешённых: на вывод не влияет
informs_untrusted = только для сведения: этой библиотеке не доверяют
is_disputed = спорно: её текст неизвестен, а этот отрывок есть и в книге другой библиотеки
informs_quarantined = только для сведения: возможно, собрана из частей других книг и ждёт решения администратора
informs_quoted = только для сведения: цитата, малая часть обоих текстов
informs_scattered = только для сведения: дословно совпадает слишком мало
informs_reworded = только для сведения: найдена по содержанию, а не по дословному тексту
informs_too_little = только для сведения: слишком мало по правилам библиотеки или проверки
valid_from = указанные права действуют с { $day }
valid_until = указанные права действуют по { $day }
another_edition = другое издание книги { $number }
shares = { $common } { $common ->
    [one] общий отпечаток
    [few] общих отпечатка
   *[many] общих отпечатков
}: { $text } отпечатков текста, { $book } отпечатков книги
rights_forbidden = издавать запрещено
rights_protected = охраняется
rights_free = разрешено публиковать
rights_public_domain = общественное достояние
rights_unknown = права неизвестны
same_signature = у текста и книги общая сигнатура; какая часть у них общая, она не показывает
same_text = текст и книга в основном совпадают
part_of_book = большая часть текста содержится в этой книге
contains_book = большая часть этой книги содержится в тексте
overlap = у текста и книги есть общие отрывки
quotations = у текста и книги общие только цитаты или другие короткие отрывки
same_work = текст и книга — одно произведение, изложенное разными словами, например два перевода
with_changes = { $relation }, с изменениями
text = текст
book = книга
passage = Отрывок { $number }
passage_goes_on = Продолжение не показано: { $characters } { $characters ->
    [one] знак
    [few] знака
   *[many] знаков
}
more_passages = здесь не { $number ->
    [one] показан ещё { $number } отрывок
    [few] показаны ещё { $number } отрывка
   *[many] показаны ещё { $number } отрывков
}
legend = Отмечено:
legend_added = есть только в тексте слева
legend_missing = есть только в тексте справа
legend_respelled = написано иначе
legend_invisible = невидимый знак
aloud_added = только здесь:
aloud_missing = только в другом тексте:
aloud_respelled = написано иначе:
head_passages = Отрывки
head_compared = Сравнение
head_in = В { $name }
comparison_of = Сравнение: { $a } и { $b }
at_least = не менее { $share }
identical = { $share } из { $characters } { $characters ->
    [one] знака
   *[other] знаков
} совпадает дословно
identical_as_read = { $identical }, { $share } — без учёта регистра, диакритики и маскировки

## Методика

recipe = { $number ->
    [one] рецепт
   *[other] рецепты
} { $names }
rule = для совпадения нужно не менее { $common } { $common ->
    [one] общего отпечатка
   *[other] общих отпечатков
}
rule_support = (отдельно стоящий считается за половину)
rule_share = и { $share } текста или книги
rule_score = и { $share } обоих текстов вместе
rule_share_of_few = ({ $share }, если их меньше { $few })
accident_in_this = случайно так же { $number ->
    [one] совпала бы примерно { $number } посторонняя книга
    [few] совпали бы примерно { $number } посторонние книги
   *[many] совпали бы примерно { $number } посторонних книг
} в каталоге такого размера
accident_once = случайного совпадения такого рода следует ожидать один раз на { $indexes } { $indexes ->
    [one] каталог
    [few] каталога
   *[many] каталогов
} такого размера
accident_never = случайного совпадения такого рода не следует ожидать и на миллион каталогов такого размера
evidence = доказательная сила { $evidence }
evidence_of = { $recipes }: доказательная сила { $evidence }

## Оговорки

note_no_gems = по рецепту { $recipe } нет ни одного отпечатка: текст слишком короткий или не является связным текстом, поэтому проверка ничего о нём не говорит; проверьте не менее { $characters } { $characters ->
    [one] знака
   *[other] знаков
}
note_few_gems = по рецепту { $recipe } есть только { $gems } { $gems ->
    [one] отпечаток
    [few] отпечатка
   *[many] отпечатков
}, а для совпадения нужно не менее { $fewest } { $fewest ->
    [one] общего
   *[other] общих
}; проверьте не менее { $characters } { $characters ->
    [one] знака
   *[other] знаков
}
note_boilerplate = не учтено { $common } из { $gems } отпечатков, так как каждый из них есть более чем в { $cap } книгах одной библиотеки: текст состоит в основном из общих мест или добавлялся очень часто, поэтому проверка мало о нём говорит
note_missed = { $number ->
    [one] у { $lacking } из { $books } книг нет отпечатков по рецепту { $recipes }
   *[other] у { $lacking } из { $books } книг нет отпечатков по рецептам { $recipes }
}, поэтому эта проверка не могла их найти
note_unused = ни у одной книги нет отпечатков { $number ->
    [one] по рецепту { $recipes }, поэтому проверка обошлась без него
   *[other] по рецептам { $recipes }, поэтому проверка обошлась без них
}
note_uncompared = с текстом не сравнивались { $books } { $books ->
    [one] книга
    [few] книги
    [many] книг
   *[other] книги
} из библиотек, где очень много похожих
note_reindex = отпечатки нужно вычислить: команду показывает `lapidary doctor`
note_left_out = не показаны { $matches } { $matches ->
    [one] совпадение
    [few] совпадения
   *[many] совпадений
} и { $spans } { $spans ->
    [one] отрывок
    [few] отрывка
   *[many] отрывков
}, так как отчёт занимает не более { $mebibytes } МиБ; запросите меньше совпадений или отчёт без отрывков
note_must_gate = с этим ключом такую проверку проходит каждая книга, без исключений
note_hidden = { $matches } { $matches ->
    [one] совпадение находится
    [few] совпадения находятся
   *[many] совпадений находятся
} в библиотеках, недоступных этому ключу

## В терминале

not_counted = не учтено: { $what }
note = примечание: { $note }
method_in_short = методика: { $method }
not_shown = { $number } { $number ->
    [one] совпадение не показано
    [few] совпадения не показаны
   *[many] совпадений не показаны
}
more = … и ещё { $number }

## На странице

check_of = Проверка: { $name }
head_checked = Проверено
head_when = Когда
head_certainty = Достоверность
head_matches = Совпадения
head_disguise = Маскировка
head_not_counted = Не учтено
head_note = Примечание
text_not_kept = Текст не сохранён вместе с отчётом.
head_method = Методика
head_disguised_words = Замаскированные слова
head_gems = Отпечатки
head_in_text = В тексте
head_in_book = В книге
rights_as_of = { $when }; права по состоянию на { $day }
map_shows = Совпадающие части текста
map_part = { $title }, отрывок { $number }: { $place }
zoom = Масштаб
zoom_whole = Весь текст
head_contents = Содержание
head_map = Где совпадает
head_works = Книги
head_how = Как получен вывод
characters = { $number } { $number ->
    [one] знак
    [few] знака
   *[many] знаков
}
only_gems = { $name }: сам текст не передан, только его отпечатки ({ $recipes })
decided = Решение: { $ruling }, { $actor }, { $day }
needs_no_decision = Решение не нужно
waits_for = Ещё не решено. Решает { $libraries }
matched_later = «{ $title }» ({ $library }), добавлена позже
waits_again = Ещё не решено. Совпала книга { $book }
more_works = ещё { $number }
other_editions = { $number ->
    [one] ещё { $number } издание
    [few] ещё { $number } издания
   *[many] ещё { $number } изданий
}
passages = { $number } { $number ->
    [one] отрывок
    [few] отрывка
   *[many] отрывков
}
head_library = Библиотека
head_rights = Права
head_identical = Совпадает дословно
head_words_of_text = Слова текста
head_words_of_book = Слова книги
in_text_at = в тексте: { $place }
likeness = { $characters }, совпадает { $share }
in_book_at = в книге: { $place }
next_passage = Следующий отрывок
previous_passage = Предыдущий отрывок
more_matches = здесь не { $number ->
    [one] показано ещё { $number } совпадение
    [few] показано ещё { $number } совпадения
   *[many] показано ещё { $number } совпадений
}

## Указатель отчётов

head_file = Файл
head_verdict = Вывод
head_covered = В охраняемых книгах
files = { $number } { $number ->
    [one] файл
    [few] файла
   *[many] файлов
}
checked_on = Проверено { $when }
is_forbidden = запрещено
is_protected = охраняется
is_free = свободно
is_public_domain = общественное достояние
is_unknown = неизвестно
outcome_forbidden = Запрещено
outcome_protected = Охраняется
outcome_undecided = Не решено
outcome_too_short = Слишком короткий текст
outcome_not_checked = Не проверено
outcome_unreadable = Не удалось прочитать
outcome_free = Можно публиковать
outcome_no_match = Совпадений нет
forbidden_of = запрещено — { $number }
protected_of = охраняется — { $number }
undecided_of = не решено — { $number }
too_short_of = слишком короткий текст — { $number }
not_checked_of = не проверено — { $number }
unreadable_of = не удалось прочитать — { $number }
free_of = можно публиковать — { $number }
no_match_of = без совпадений — { $number }

## Сравнение двух текстов

compared = { $letter }  { $file }: { $gems } { $gems ->
    [one] отпечаток
    [few] отпечатка
   *[many] отпечатков
}
compared_match = { $common } { $common ->
    [one] общий отпечаток
    [few] общих отпечатка
   *[many] общих отпечатков
} по рецепту { $recipe }: тексты совпадают
compared_no_match = { $common } { $common ->
    [one] общий отпечаток
    [few] общих отпечатка
   *[many] общих отпечатков
} по рецепту { $recipe }: тексты не совпадают
compared_shares = { $a } текста A, { $b } текста B
compared_span = { $common } { $common ->
    [one] отпечаток
    [few] отпечатка
   *[many] отпечатков
}: { $a } в A, { $b } в B
compared_exactly = Дословно, в { $passages } { $passages ->
    [one] отрывке
   *[other] отрывках
}: { $identity }
compared_passage = { $a } в A, { $b } в B: { $identity }
compared_same_text = A и B в основном совпадают
compared_part_of_book = большая часть A содержится в B
compared_contains_book = большая часть B содержится в A
compared_overlap = у A и B есть общие отрывки
compared_quotations = у A и B общие только цитаты или другие короткие отрывки
compared_same_work = A и B — одно произведение, изложенное разными словами, например два перевода

## Группы дубликатов

head_duplicates = Дубликаты
head_number = №
head_to_best = По сравнению с лучшим
duplicates = { $number } { $number ->
    [one] группа
    [few] группы
   *[many] групп
} из { $texts } { $texts ->
    [one] текста
    [few] текстов
   *[many] текстов
} с одинаковым содержанием
duplicates_picture = Каждый круг — текст: чем длиннее, тем больше; лучший закрашен. Линии соединяют тексты с общими частями: чем больше общего, тем толще.
is_best = лучший
best_complete = Лучший: полнее остальных.
best_format = Лучший: есть столь же полные, но его формат сохраняет больше.
best_metadata = Лучший: есть столь же полные, но о нём больше сведений.
best_first = Лучший: есть не хуже, но он первый по имени.
to_best_identical = тот же текст
to_best_same = почти тот же текст: { $of_text } его, { $of_best } лучшего
to_best_part = часть лучшего: { $of_text } его, { $of_best } лучшего
to_best_whole = содержит лучший: { $of_text } его, { $of_best } лучшего
to_best_overlap = содержит отрывки лучшего: { $of_text } его, { $of_best } лучшего
to_best_indirect = почти тот же текст, что у других в группе
head_overlaps = Общие части у разных текстов
and_overlaps = { $groups } и { $overlaps } { $overlaps ->
    [one] пересечение
    [few] пересечения
   *[many] пересечений
}
overlap_part = A — часть B: { $of_a } A, { $of_b } B
overlap_whole = A содержит B: { $of_a } A, { $of_b } B
overlap_passages = У A и B общие отрывки: { $of_a } A, { $of_b } B
left_out_many = { $texts } { $texts ->
    [one] текст имеет общие отрывки с очень многими и сравнен
    [few] текста имеют общие отрывки с очень многими и сравнены
   *[many] текстов имеют общие отрывки с очень многими и сравнены
} только с теми, с которыми общего больше всего.
left_out_common = { $texts } { $texts ->
    [one] текст содержит
    [few] текста содержат
   *[many] текстов содержат
} отрывки, общие для слишком многих текстов (см. --common-cap). Копии только по этим отрывкам не искались.
left_out_pairs = Найдено ещё { $pairs } { $pairs ->
    [one] пара, она не показана.
    [few] пары, они не показаны.
   *[many] пар, они не показаны.
}

## Откуда взяты отрывки

head_history = Откуда взяты отрывки
history_note = Тексты каждой группы — в порядке их дат. Отрывок относится к самому раннему тексту группы, в котором он есть; вне группы могут быть тексты старше. Каждый цвет — источник. То, что текст здесь более ранний, не доказывает, кто у кого заимствовал.
history_first = Самый ранний в группе.
history_none = Ни одного отрывка нет в более ранних текстах.
history_share = В более ранних текстах есть { $share } его:
history_place = { $start }–{ $end } % ({ $bytes } { $bytes ->
    [one] байт
    [few] байта
   *[many] байт
})
head_here = Отрывок
head_from = Откуда
head_there = Там
head_begins = Начало
