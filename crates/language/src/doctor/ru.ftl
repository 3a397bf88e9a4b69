# Что не в порядке, по-русски.

d_finding = { $what }: { $why }; исправить: { $fix }
d_healthy = всё в порядке

## Рецепты

d_weak_default = по умолчанию проверки используют рецепт «{ $recipe }»
d_weak_default_boundaries = он пропускает большинство замаскированных копий, которые находит hardened-compact
d_weak_default_public = тот, кто прочтёт, как он устроен, может править копию, пока она не перестанет находиться; рецепт с секретом её найдёт
d_weak_default_sparse = он пропускает абзацы и короткие изменённые куски, которые находит hardened-compact
d_missed_books = { $lacking ->
    [one] у { $lacking } книги
   *[other] у { $lacking } книг
} из { $total } нет отпечатков рецепта по умолчанию «{ $recipe }»
d_missed_books_why = проверки находят их только по другим рецептам или не находят вовсе
d_missed_books_of_others_why = проверки текстов используют и другие рецепты и идут дольше, а проверки отпечатков этих книг не находят
d_missed_books_of_others_fix = { $command }; книги, от которых есть только отпечатки, останутся как есть
d_incomplete_recipe = { $lacking ->
    [one] у { $lacking } книги
   *[other] у { $lacking } книг
} из { $total } нет отпечатков рецепта «{ $recipe }»
d_incomplete_recipe_why = проверки по этому рецепту их не находят
d_incomplete_recipe_fix = { $command }, чтобы дополнить его и сделать рецептом по умолчанию, или lapidary drop-recipe TARGET { $recipe }
d_old_lexicon = словарь рецепта «{ $recipe }» составлен по { $documents ->
    [one] { $documents } документу
   *[other] { $documents } документам
}, а в каталоге { $books } { $books ->
    [one] книга
    [few] книги
   *[many] книг
}
d_old_lexicon_why = веса его слов могут уже не соответствовать библиотеке
d_old_lexicon_fix = посмотрите, сколько подписей изменится: lapidary lexicon drift FILE PATH; если много, составьте новый словарь и переиндексируйте каталог
d_weak_rule = настройки сервера требуют для совпадения больше, чем рецепт по умолчанию ({ $flags })
d_weak_rule_why = проверки пропускают копии, которые иначе нашли бы
d_weak_rule_fix = запустите lapidary serve без { $flags }
d_missing_client_recipe = настройка client-recipe называет «{ $recipe }», а такого рецепта в этом каталоге нет
d_missing_client_recipe_why = в проверках прежним клиентам отказывают
d_missing_client_recipe_fix = запустите lapidary serve без --client-recipe или выполните lapidary reindex TARGET --recipe { $recipe } --from sources PATH

## Задачи и резервные копии

d_failed_job = задача { $id } ({ $kind }) завершилась с ошибкой: { $error }
d_failed_job_unknown = причина неизвестна
d_failed_job_why = то, что она должна была сделать, не сделано
d_failed_job_fix = устраните причину, затем { $command }
d_waiting_job = задача { $id } (reindex) ждёт { $left } { $left ->
    [one] текст
    [few] текста
   *[many] текстов
}
d_waiting_job_why = до тех пор проверки используют старый рецепт
d_waiting_job_fix = { $command } или lapidary jobs cancel TARGET { $id }
d_inconsistent = последняя проверка целостности (задача { $id }) нашла { $faults } { $faults ->
    [one] противоречие
    [few] противоречия
   *[many] противоречий
}
d_inconsistent_why = проверки могут пропускать книги
d_uncounted = книги библиотек не сосчитаны по рецептам: { $libraries }
d_uncounted_why = проверки текстов и добавляемых книг считают не охваченными книги, которые на самом деле охвачены
d_no_backup = командой lapidary backup ещё не сделано ни одной резервной копии
d_old_backup = последняя резервная копия сделана { $day }
d_backup_why = то, что пропадёт вместе с диском, восстановить нельзя
d_backup_nowhere_fix = запустите lapidary serve с --backups DIR, затем lapidary backup TARGET

## Ключи и библиотеки

d_probing_key = ключ { $key } за день проверил { $texts } { $texts ->
    [one] текст, совпавший
    [few] текста, совпавших
   *[many] текстов, совпавших
} с одной и той же книгой
d_probing_key_why = так делает тот, кто ищет, какие правки скроют копию
d_probing_key_fix = спросите владельца ключа; чтобы это прекратить: lapidary keys revoke TARGET { $key }
d_expired_key = срок действия ключа «{ $key }» истёк { $day }
d_expired_key_why = запросы с ним отклоняются
d_expiring_key = срок действия ключа «{ $key }» истекает { $day }
d_expiring_key_why = после этого запросы с ним будут отклоняться
d_expiring_key_fix = { $command } NEW-NAME, и передайте новый ключ пользователю
d_unstated_trust = не сказано, доверять ли библиотекам ключей, которые пополняют каталог: { $libraries }
d_unstated_trust_why = их книги определяют ответы для всех, у кого бы ни были эти ключи
d_unstated_trust_fix = для каждой: lapidary libraries trust TARGET { $library } или lapidary libraries distrust TARGET { $library }
d_key_may_not_forbid = в библиотеке «{ $library }» есть запрещённые книги, а ключ «{ $key }» не вправе запрещать
d_key_may_not_forbid_why = он не может ни изменить, ни удалить их, и каталоги с ними принимаются лишь частично
d_key_may_not_forbid_fix = если это его книги: { $revoke }, затем { $add }; если нет, оставьте как есть
d_quarantine = в карантине библиотеки { $library } { $books ->
    [one] ждёт { $books } книга
    [few] ждут { $books } книги
   *[many] ждут { $books } книг
}
d_quarantine_why = у них общие отрывки с несколькими не связанными между собой произведениями других библиотек, и для других они ничего не решают
d_quarantine_fix = посмотрите на них: `lapidary books list --library { $library } --quarantined`; те, что не составлены из чужих, подтвердите: `lapidary books confirm --library { $library } ID`; остальные отключите или удалите

## Вебхуки и поставщик удостоверений

d_of_library = библиотеки «{ $library }»
d_of_key = ключа «{ $key }»
d_failing_webhook = вебхук { $owner } не работает ({ $attempts } { $attempts ->
    [one] попытка
    [few] попытки
   *[many] попыток
}): { $error }
d_failing_webhook_why = владелец не узнаёт о том, чего ждёт
d_failing_webhook_fix = почините получателя по адресу { $url } или выполните lapidary webhooks remove TARGET { $option }
d_unreachable_provider = поставщик удостоверений { $issuer } недоступен: { $why }
d_unreachable_provider_why = те, у кого нет ключа, не могут войти
d_unreachable_provider_fix = проверьте, что с этой машины поставщик доступен, а настройка oidc.issuer в точности равна его адресу
d_expired_certificate = срок действия сертификата TLS истёк { $day }
d_expiring_certificate = срок действия сертификата TLS истекает { $day }
d_expiring_certificate_why = клиенты не соединяются с сервером, сертификат которого истёк
d_expiring_certificate_fix = обновите файлы --certificate и --private-key; сервер перечитает их сам

## Место и хранилище

d_evidence_full = тексты записанных проверок занимают { $taken } МиБ из { $most } МиБ
d_evidence_full_why = ключ, который записывает много проверок, записывает их уже без текстов, а в конце концов так будут записаны все
d_evidence_full_fix = увеличьте max-evidence или храните тексты меньше дней (keep-evidence-days)
d_watches_full = отпечатки наблюдаемых проверок занимают { $taken } МиБ из { $most } МиБ
d_watches_full_why = за проверками ключа, который записывает их много, больше не наблюдают, а в конце концов не будут ни за одной
d_watches_full_fix = увеличьте max-watched или наблюдайте за проверками меньше дней (watch-days)
d_disk_nearly_full = на диске свободно { $free } МиБ, меньше чем { $least } МиБ
d_disk_nearly_full_why = сервер не готов к работе, а когда диск заполнится, изменения будут отклоняться
d_free_space_fix = освободите место на диске каталога
d_no_reserve = свободного места слишком мало для запаса, который сервер держит на случай полного диска
d_no_reserve_why = ключ, отозванный при полном диске, действовать не будет только до остановки сервера, если записать это раньше не удастся
d_no_reserve_fix = освободите 128 МиБ на диске каталога
d_not_writable = каталог нельзя изменить: { $error }
d_not_writable_why = нельзя изменить ни книги, ни ключи, ни заметки
d_not_writable_fix = сделайте папку каталога доступной для записи: проверьте её владельца, права и то, как подключён диск
d_store_errors = с запуска программы хранилищу не удалось записать данные в фоне { $errors } { $errors ->
    [one] раз
    [few] раза
   *[many] раз
}
d_store_errors_why = возможно, диск неисправен
d_store_errors_fix = посмотрите журнал, затем lapidary verify TARGET

## Узлы кластера

d_lost_data = узлы потеряли данные: { $nodes }
d_lost_data_why = ответы, для которых нужен такой узел, не даются, потому что в них не хватало бы книг
d_lost_data_fix = запустите каждый узел с его данными или посмотрите, что потеряно, и восстановите остальное: lapidary verify TARGET --fix
d_evicting_node = эти узлы могут удалять ключи, когда их память заполнена: { $nodes }
d_evicting_node_why = проверки пропускали бы книги, и никто бы об этом не узнал
d_missing_replica = у этих узлов нет реплики: { $nodes }
d_missing_replica_why = если один из них пропадёт, пропадут и его книги, а проверки не будут работать, пока он не вернётся
d_missing_replica_of_some_why = у других узлов реплики есть, поэтому изменения того, что хранят эти, отклоняются, и слоты, перенесённые на них, больше ничего не примут
d_missing_replica_fix = запустите для каждого новый узел, затем { $command }
d_not_persistent = эти узлы не хранят данные на диске: { $nodes }
d_not_persistent_why = если питание пропадёт у всех копий одной части, её книги будут потеряны
d_cannot_save = эти узлы не смогли записать данные на диск: { $nodes }
d_cannot_save_why = то, что есть только в их памяти, пропадёт, когда они остановятся
d_cannot_save_fix = освободите место на их дисках и посмотрите их журналы
d_node_nearly_full = эти узлы занимают { $percent } % своей памяти или больше: { $nodes }
d_node_nearly_full_why = когда узел заполнен, книги отклоняются
d_node_nearly_full_fix = lapidary compact TARGET, затем добавьте узел с репликой и перенесите на него слоты: redis-cli --cluster rebalance HOST:PORT --cluster-use-empty-masters
d_missing_catalogue = в кластере нет каталога с этим префиксом
d_missing_catalogue_why = проверки ничего не находят
d_missing_catalogue_fix = укажите правильные узлы и префикс или выполните lapidary copy --from DIR --to URL
