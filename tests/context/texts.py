"""Texts for the token tests: sentences written for them, and generators, the same for a seed.

No weight was fitted to them, but the safety margins of some kinds (``scripts/fit_tokens.py``)
were raised after seeing that these sentences cost more than the texts of the fit: they are a
regression test, not an untouched sample. ``long_text`` combines them into a text of a few
hundred tokens.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable
from typing import Any

EN = """\
The ferry was late again, so we shared a thermos of tea on the pier and watched the gulls argue.
Could you move my dentist appointment to Thursday afternoon, preferably after three?
Her grandmother kept bees behind the orchard and sold the honey at the Saturday market.
We rolled back the release because checkout latency doubled within ten minutes of the deploy.
I'm allergic to peanuts, so please double-check the sauce before you order anything.
The committee postponed the vote until the auditors deliver their final report in November.
Rain is expected along the coast tonight, turning to sleet in the hills by early morning.
If the battery drops below twenty percent, the sensor switches to a slower sampling rate.
He told the same joke at every wedding, and somehow it got a little funnier each year.
Quarterly revenue rose eight percent, mostly thanks to subscriptions in Brazil and Vietnam.
Don't forget that Marta prefers the aisle seat and can't stand airline coffee.
The museum reopened after a long renovation with a wing devoted to Polynesian navigation.
Photosynthesis converts light into chemical energy that the plant stores as sugar.
My landlord says the boiler will be replaced next week, but he said that in March too.
A footnote on page forty mentions a treaty nobody had bothered to translate.
Please summarise the thread, list open questions, and tell me who owes whom an answer.
The hikers lost the trail in fog and followed the sound of cowbells down to the valley.
Interest rates stayed unchanged, which surprised the analysts who had bet on a cut.
She wrote the whole parser on a train from Kraków to Gdańsk without any internet.
Our neighbour's parrot has learned to imitate the microwave, and it's driving everyone mad.
The vaccine trial enrolled four thousand volunteers across six countries.
Turn left at the bakery, walk past the library, and you'll see a blue gate.
It was the kind of silence that follows an unexpected question at a family dinner.
Backups run nightly, but nobody had ever tested whether a restore actually worked.
The striker missed a penalty in the final minute and the stadium went completely quiet.
Caution: the surface may remain hot for up to thirty minutes after switching off.
They negotiated a smaller office with bigger windows and a kitchen that smells of cardamom.
I finished the book you lent me; the ending felt rushed, though the middle is wonderful.
Volcanic ash grounded flights throughout the archipelago for the second day running.
Remember: never commit credentials, and rotate the ones that leaked on Friday.
What would it take to make this dashboard load in under a second on a cheap phone?
Granddad's recipe calls for "a fistful of flour", which depends rather on the fist.""".splitlines()

ZH = """\
昨晚的雨下得太大，地铁口积了水，我只好绕到后门才进了公司。
麻烦把周四下午的会改到周五上午十点，顺便通知一下财务的同事。
外婆做的红烧肉肥而不腻，她说秘诀是冰糖要炒到刚好变色。
这次回滚是因为新版本上线后，支付接口的延迟翻了一倍。
我对花生过敏，点菜之前请务必跟服务员确认一下酱料。
委员会决定等审计报告出来以后再投票，预计要到十一月底。
沿海地区今夜有中到大雨，山区可能转为雨夹雪，请注意防范。
当电量低于百分之二十时，传感器会自动降低采样频率。
他每次婚礼都讲同一个笑话，奇怪的是一年比一年好笑。
本季度营收同比增长百分之八，主要来自东南亚市场的订阅业务。
别忘了，小玛喜欢靠走道的座位，而且从来不喝飞机上的咖啡。
博物馆闭馆翻修两年后重新开放，新增了一个航海主题展厅。
光合作用把光能转化为化学能，并以糖的形式储存在植物体内。
房东说下周换热水器，可是他三月份就这么说过了。
请总结一下这个讨论，列出还没解决的问题以及每个人要做的事。
徒步者在浓雾里迷了路，循着牛铃声才走回山谷。
央行维持利率不变，出乎不少分析师的意料。
她在从武汉到广州的高铁上，没有网络也写完了整个解析器。
邻居家的鹦鹉学会了模仿微波炉的声音，吵得全楼不得安宁。
这项疫苗试验在六个国家招募了四千多名志愿者。
前面路口左转，经过图书馆，就能看到一扇蓝色的大门。
那是一种家庭聚餐上有人问了不该问的问题之后的沉默。
备份每天夜里都跑，但从来没有人试过能不能恢复。
最后一分钟前锋踢丢了点球，整个球场鸦雀无声。
注意：关闭电源后三十分钟内，表面温度可能仍然很高。
你借我的那本小说看完了，结尾有点仓促，中间写得极好。
火山灰导致群岛的航班连续两天全部取消。
切记不要提交密钥，上周五泄露的那几个要尽快轮换。
怎样才能让这个页面在便宜的手机上一秒之内打开？
苏轼被贬黄州之后，写下了前后《赤壁赋》，豁达之中自有苍凉。
合同第七条规定，任何一方违约，应赔偿对方因此遭受的全部损失。
爷爷的菜谱上写着“盐少许”，至于少许是多少，全凭手感。""".splitlines()

JA = """\
昨夜の雨で川の水位が上がり、朝の電車は一時間ほど遅れました。
木曜日の会議を金曜の午前十時に変更して、経理の方にも連絡してください。
祖母の作る肉じゃがは、最後に少しだけ味噌を入れるのがこつだそうです。
新しいバージョンを公開した直後に決済の応答が遅くなったため、元に戻しました。
ピーナッツのアレルギーがあるので、注文する前にソースの中身を確認してもらえますか。
委員会は、監査の報告書が届くまで採決を延期することを決めた。
今夜は沿岸部で強い雨、山沿いではみぞれになるおそれがあります。
電池の残量が二十パーセントを下回ると、センサーは測定の間隔を自動的に延ばします。
彼は結婚式のたびに同じ冗談を言うが、なぜか年々おもしろくなっている。
今期の売上高は前年同期比で八パーセント増え、東南アジアの契約が全体を押し上げた。
マルタさんは通路側の席が好きで、機内のコーヒーは飲まないことを覚えておいて。
二年間の改装を終えた博物館に、航海の歴史を紹介する新しい展示室ができた。
植物は光のエネルギーを使って二酸化炭素と水から糖を作り出す。
大家さんは来週給湯器を交換すると言っていますが、三月にも同じことを言っていました。
この話し合いを要約して、残っている課題と担当者を一覧にしてください。
霧で道を見失った登山者は、牛の鈴の音を頼りに谷まで下りてきた。
金利の据え置きは、利下げを予想していた多くの専門家を驚かせた。
彼女は盛岡から東京へ向かう新幹線の中で、ネットにつながずに構文解析器を書き上げた。
隣のオウムが電子レンジの音をまねするようになって、みんな困っている。
ワクチンの治験には六か国からおよそ四千人のボランティアが参加した。
次の角を左に曲がって図書館を通り過ぎると、青い門が見えます。
それは、家族の食卓で誰かが余計な質問をしたあとのような沈黙だった。
バックアップは毎晩取っていたのに、復元できるかどうかは誰も試していなかった。
終了間際にPKを外し、スタジアムは水を打ったように静まり返った。
注意：電源を切ったあとも、三十分ほどは表面が熱くなっていることがあります。
貸してくれた小説、読み終わったよ。結末は少し急だったけど、途中が最高だった。
火山灰の影響で、諸島を結ぶ便は二日続けて欠航となった。
鍵をコミットしないこと、そして金曜日に漏れたものは早めに更新すること。
安いスマートフォンでも一秒以内に表示するには、どうすればいいでしょうか。
契約書の第七条によれば、違反した側は相手方の損害をすべて賠償しなければならない。
古池や蛙飛びこむ水の音、という句を知らない人はほとんどいないだろう。
おじいちゃんのレシピには「塩少々」としか書いていないので、結局は勘が頼りです。""".splitlines()

KO = """\
어젯밤에 비가 너무 많이 와서 지하철역 입구가 물에 잠겼고 나는 뒷문으로 돌아서 출근했다.
목요일 오후 회의를 금요일 오전 열 시로 옮기고 재무팀에도 알려 주세요.
할머니의 갈비찜은 마지막에 배를 갈아 넣는 것이 비결이라고 한다.
새 버전을 배포한 뒤 결제 응답 시간이 두 배로 늘어서 바로 되돌렸습니다.
저는 땅콩 알레르기가 있으니 주문하기 전에 소스를 꼭 확인해 주시겠어요?
위원회는 감사 보고서가 나올 때까지 표결을 미루기로 결정했다.
오늘 밤 해안 지역에는 강한 비가 내리고 산간에는 진눈깨비가 예상됩니다.
배터리가 이십 퍼센트 아래로 떨어지면 센서는 측정 간격을 자동으로 늘린다.
그는 결혼식마다 똑같은 농담을 하는데 이상하게도 해마다 더 웃긴다.
이번 분기 매출은 동남아시아 구독 서비스 덕분에 작년보다 팔 퍼센트 증가했다.
마르타 씨는 통로 쪽 자리를 좋아하고 기내 커피는 마시지 않는다는 걸 기억해 줘.
이 년 동안 수리를 마친 박물관에 항해의 역사를 다루는 전시실이 새로 생겼다.
식물은 빛 에너지를 이용해 이산화탄소와 물로 당을 만들어 낸다.
집주인은 다음 주에 보일러를 바꿔 준다고 하는데 삼월에도 그렇게 말했었다.
이 토론을 요약하고 남은 질문과 담당자를 목록으로 정리해 주세요.
안개 속에서 길을 잃은 등산객들은 소 방울 소리를 따라 골짜기로 내려왔다.
금리가 동결되자 인하를 예상했던 분석가들은 적잖이 놀랐다.
그녀는 부산으로 가는 기차 안에서 인터넷도 없이 구문 분석기를 다 작성했다.
옆집 앵무새가 전자레인지 소리를 흉내 내기 시작해서 모두가 괴로워하고 있다.
백신 임상 시험에는 여섯 나라에서 사천 명이 넘는 자원봉사자가 참여했다.
다음 모퉁이에서 왼쪽으로 돌아 도서관을 지나면 파란 대문이 보일 거예요.
그것은 가족 식사 자리에서 누군가 엉뚱한 질문을 한 뒤에 찾아오는 침묵이었다.
백업은 매일 밤 돌아갔지만 복원이 되는지 시험해 본 사람은 아무도 없었다.
마지막 순간에 페널티킥을 놓치자 경기장은 찬물을 끼얹은 듯 조용해졌다.
주의: 전원을 끈 뒤에도 삼십 분 동안은 표면이 뜨거울 수 있습니다.
네가 빌려준 소설 다 읽었어. 결말은 조금 급했지만 중간은 정말 훌륭하더라.
화산재 때문에 섬을 오가는 항공편이 이틀 연속 모두 취소되었다.
비밀 키는 절대 커밋하지 말고 금요일에 유출된 것은 빨리 교체하세요.
값싼 휴대폰에서도 이 화면이 일 초 안에 뜨게 하려면 무엇이 필요할까요?
계약서 제칠조에 따르면 위반한 당사자는 상대방의 손해를 모두 배상하여야 한다.
봄바람이 불면 강가의 버드나무가 제일 먼저 연둣빛으로 물든다.
할아버지의 조리법에는 소금 조금이라고만 적혀 있어서 결국 손맛에 맡길 수밖에 없다.""".splitlines()

AR = """\
تأخرت العبارة مرة أخرى فجلسنا على الرصيف نشرب الشاي ونراقب النوارس.
هل يمكنك نقل موعد طبيب الأسنان إلى بعد ظهر الخميس إن أمكن؟
كانت جدتي تربي النحل خلف البستان وتبيع العسل في سوق السبت.
أعدنا الإصدار السابق لأن زمن الاستجابة تضاعف بعد عشر دقائق من النشر.
لدي حساسية من الفول السوداني، فأرجو التأكد من مكونات الصلصة قبل الطلب.
قررت اللجنة تأجيل التصويت حتى يصدر التقرير النهائي للمدققين.
يتوقع هطول أمطار غزيرة على الساحل الليلة وتساقط الثلوج على المرتفعات.
عندما تنخفض البطارية عن عشرين في المئة يبطئ المستشعر وتيرة القياس.
كان يروي النكتة نفسها في كل عرس، والغريب أنها تصبح أطرف كل عام.
ارتفعت الإيرادات هذا الربع بنسبة ثمانية في المئة بفضل الاشتراكات الجديدة.
لا تنس أن مارتا تفضل المقعد المجاور للممر ولا تشرب قهوة الطائرة.
أعيد افتتاح المتحف بعد عامين من الترميم وفيه جناح عن تاريخ الملاحة.
تحول النباتات ضوء الشمس إلى طاقة كيميائية تخزنها على شكل سكر.
يقول صاحب البيت إنه سيستبدل السخان الأسبوع القادم، لكنه قال ذلك في مارس أيضا.
من فضلك لخص النقاش واذكر الأسئلة المفتوحة ومن المسؤول عن كل منها.
ضل المتنزهون الطريق في الضباب وتبعوا صوت الأجراس حتى الوادي.
أبقى البنك المركزي أسعار الفائدة دون تغيير خلافا لتوقعات المحللين.
كتبت البرنامج كله في القطار من الإسكندرية إلى القاهرة دون اتصال بالإنترنت.
تعلم ببغاء الجيران تقليد صوت الفرن وصار يزعج سكان العمارة جميعا.
شارك في التجربة أربعة آلاف متطوع من ست دول مختلفة.
انعطف يسارا عند المخبز ثم امش بجوار المكتبة وسترى بوابة زرقاء.
كان صمتا يشبه ما يعقب سؤالا محرجا على مائدة العائلة.
تعمل النسخ الاحتياطية كل ليلة، لكن أحدا لم يجرب استعادتها قط.
أضاع المهاجم ركلة الجزاء في الدقيقة الأخيرة فساد الصمت أرجاء الملعب.
تحذير: قد يظل السطح ساخنا لمدة نصف ساعة بعد إيقاف التشغيل.
أنهيت الرواية التي أعرتني إياها، النهاية متعجلة لكن وسطها رائع.
أدى الرماد البركاني إلى إلغاء الرحلات بين الجزر لليوم الثاني على التوالي.
لا ترفع كلمات المرور إلى المستودع أبدا، وغير ما تسرب منها يوم الجمعة.
ما الذي يلزم لكي تفتح هذه الصفحة في أقل من ثانية على هاتف رخيص؟
تنص المادة السابعة من العقد على أن يعوض الطرف المخالف الطرف الآخر عن كامل الضرر.
قال الشاعر إن السفر يعلم الصبر، وإن العودة تعلم الامتنان.
وصفة جدي تقول قليل من الملح، أما مقدار القليل فيعرفه وحده.""".splitlines()

TH = """\
เมื่อคืนฝนตกหนักมากจนน้ำท่วมทางเข้าสถานี ฉันเลยต้องเดินอ้อมไปอีกทาง
ช่วยเลื่อนประชุมวันพฤหัสบดีไปเป็นเช้าวันศุกร์ตอนสิบโมง แล้วแจ้งฝ่ายบัญชีด้วยนะคะ
คุณยายทำแกงเขียวหวานอร่อยมาก ท่านบอกว่าเคล็ดลับอยู่ที่กะทิสด
เราต้องย้อนกลับไปใช้รุ่นเดิมเพราะระบบชำระเงินช้าลงสองเท่าหลังปล่อยรุ่นใหม่
ผมแพ้ถั่วลิสง รบกวนตรวจสอบน้ำจิ้มก่อนสั่งอาหารด้วยครับ
คณะกรรมการมีมติเลื่อนการลงคะแนนออกไปจนกว่าผู้สอบบัญชีจะส่งรายงาน
คืนนี้ชายฝั่งทะเลจะมีฝนตกหนัก ส่วนบริเวณภูเขาอากาศจะหนาวเย็นลง
เมื่อแบตเตอรี่ต่ำกว่ายี่สิบเปอร์เซ็นต์ เครื่องวัดจะลดความถี่ในการเก็บข้อมูลลง
เขาเล่ามุกเดิมทุกงานแต่งงาน แต่น่าแปลกที่มันตลกขึ้นทุกปี
รายได้ไตรมาสนี้เพิ่มขึ้นร้อยละแปด ส่วนใหญ่มาจากสมาชิกใหม่ในต่างประเทศ
อย่าลืมว่ามาร์ตาชอบนั่งริมทางเดินและไม่ดื่มกาแฟบนเครื่องบิน
พิพิธภัณฑ์เปิดอีกครั้งหลังปรับปรุงสองปี พร้อมห้องแสดงประวัติการเดินเรือ
พืชใช้พลังงานแสงเปลี่ยนน้ำและคาร์บอนไดออกไซด์ให้เป็นน้ำตาล
เจ้าของบ้านบอกว่าจะเปลี่ยนเครื่องทำน้ำอุ่นสัปดาห์หน้า แต่เดือนมีนาคมก็พูดแบบนี้
ช่วยสรุปการสนทนานี้ พร้อมรายการคำถามที่ยังค้างอยู่และผู้รับผิดชอบ
นักเดินป่าหลงทางในหมอกแล้วเดินตามเสียงกระดิ่งวัวลงมาถึงหุบเขา
ธนาคารกลางคงอัตราดอกเบี้ยไว้เท่าเดิม ทำให้นักวิเคราะห์หลายคนประหลาดใจ
เธอเขียนโปรแกรมทั้งหมดบนรถไฟจากเชียงใหม่ไปกรุงเทพโดยไม่มีอินเทอร์เน็ต
นกแก้วข้างบ้านหัดเลียนเสียงไมโครเวฟจนทุกคนรำคาญ
การทดลองวัคซีนมีอาสาสมัครเข้าร่วมกว่าสี่พันคนจากหกประเทศ
เลี้ยวซ้ายที่ร้านขนมปัง เดินผ่านห้องสมุดแล้วจะเห็นประตูสีฟ้า
มันเป็นความเงียบแบบที่เกิดขึ้นหลังมีคนถามคำถามผิดจังหวะบนโต๊ะอาหาร
ระบบสำรองข้อมูลทำงานทุกคืน แต่ไม่เคยมีใครลองกู้คืนเลยสักครั้ง
กองหน้ายิงจุดโทษพลาดในนาทีสุดท้าย ทั้งสนามเงียบกริบ
คำเตือน พื้นผิวอาจยังร้อนอยู่ประมาณสามสิบนาทีหลังปิดเครื่อง
อ่านนิยายที่เธอให้ยืมจบแล้ว ตอนจบรีบไปหน่อยแต่ตรงกลางดีมาก
เถ้าภูเขาไฟทำให้เที่ยวบินระหว่างเกาะถูกยกเลิกเป็นวันที่สองติดต่อกัน
ห้ามใส่รหัสผ่านลงในที่เก็บโค้ด และรีบเปลี่ยนอันที่รั่วไหลเมื่อวันศุกร์
ต้องทำอย่างไรหน้านี้ถึงจะเปิดได้ภายในหนึ่งวินาทีบนโทรศัพท์ราคาถูก
ตามสัญญาข้อเจ็ด ฝ่ายที่ผิดสัญญาต้องชดใช้ค่าเสียหายทั้งหมดให้แก่อีกฝ่าย
ฤดูหนาวปีนี้ดอกพญาเสือโคร่งบานสะพรั่งเต็มดอยตั้งแต่ต้นเดือนมกราคม
สูตรของคุณปู่เขียนไว้แค่ว่าเกลือเล็กน้อย สุดท้ายก็ต้องอาศัยความรู้สึก""".splitlines()

_SPOKEN = {"en": EN, "zh": ZH, "ja": JA, "ko": KO, "ar": AR, "th": TH}
_ENGLISH_WORDS = tuple(
    {word.strip(".,;:?\"'").casefold(): None for line in EN for word in line.split()}
)
_LATIN_WORDS = tuple(word for word in _ENGLISH_WORDS if word.isascii() and word.isalpha())


def _identifier(chance: random.Random) -> str:
    words = chance.sample(_LATIN_WORDS, chance.choice((1, 1, 1, 2, 2, 3)))
    style = chance.randrange(3)
    if style == 0:
        return "_".join(words)
    if style == 1:
        return words[0] + "".join(word.title() for word in words[1:])
    return "".join(word.title() for word in words)


_QUERY = (
    "SELECT {0}, COUNT(*) AS total FROM {1} WHERE {2} >= {3} GROUP BY {0} ORDER BY total DESC;\n\n"
)


def _code(chance: random.Random) -> str:
    name, other, thing = (_identifier(chance) for _ in range(3))
    return chance.choice(
        (
            f"def {name}({other}: int, *, {thing}: str | None = None) -> list[str]:\n"
            f'    """{chance.choice(EN)}"""\n'
            f"    if {thing} is None or {other} < {chance.randint(0, 99)}:\n"
            f'        raise ValueError(f"bad {{{other}!r}}: {name}")\n'
            f"    return [each.strip() for each in {thing}.split(',')][:{other}]\n\n",
            f"class {name.title().replace('_', '')}:\n"
            f"    {other} = {chance.randint(0, 9999)}\n\n"
            f"    def __init__(self, {thing}):\n"
            f"        self._{thing} = {thing}  # {chance.choice(EN)[:40]}\n"
            f"        self.{name}_count += 1\n\n",
            f"for (int {name} = 0; {name} < {other}->length; ++{name}) {{\n"
            f"    if ({thing}[{name}] != NULL && !is_{other}({name})) {{\n"
            f'        fprintf(stderr, "%s: %d\\n", {thing}[{name}], {name});\n'
            "        continue;\n    }\n}\n\n",
            f"const {name} = await fetch(`/api/{other}/${{{thing}.id}}`, {{\n"
            f"  method: 'POST',\n  headers: {{ 'Content-Type': 'application/json' }},\n"
            f"}});\nexport default {name};\n\n",
            _QUERY.format(name, other, thing, chance.randint(1, 500)),
        )
    )


def _record(chance: random.Random) -> dict[str, Any]:
    return {
        "id": chance.randrange(10**6),
        _identifier(chance): chance.choice(EN),
        "createdAt": f"2026-0{chance.randint(1, 9)}-1{chance.randint(0, 9)}T08:30:00Z",
        "tags": chance.sample(_LATIN_WORDS, 3),
        "price": round(chance.uniform(1, 900), 2),
        "active": chance.random() < 0.5,
        "parent": None,
        _identifier(chance): {"x": chance.random(), "label": _identifier(chance)},
        "url": f"https://example.com/{chance.choice(_LATIN_WORDS)}?page={chance.randint(1, 90)}",
    }


def _json(chance: random.Random) -> str:
    spaced = chance.choice((None, 2))
    return json.dumps([_record(chance) for _ in range(3)], indent=spaced) + "\n"


def _minified(chance: random.Random) -> str:
    a, b, c, d = chance.sample("abcdefghijklmnopqrstuvwxyz", 4)
    name, other = _identifier(chance), _identifier(chance)
    return chance.choice(
        (
            f"function {a}({b},{c}){{return {b}.{name}?{c}({b}.{name}):void 0}}",
            f"var {a}=this.{name},{b}={a}.length;for({c}=0;{c}<{b};{c}++)"
            f"{a}[{c}]&&({d}+={a}[{c}].{other});",
            f'{a}.prototype.{name}=function({b}){{if(!{b})throw Error("{other}");'
            f"return this._{c}=null!=={b}?{b}:[],this}};",
            f'!function({a},{b}){{"object"==typeof exports?module.exports={b}():{a}.{name}={b}()'
            f"}}(this,(()=>{{let {c}={chance.randint(0, 999)};return{{{name}:{c},{other}:!0}}}}));",
            f"const{{{name}:{a},{other}:{b}}}={c};{a}?.addEventListener('click',({d}=>"
            f"{{{d}.preventDefault(),{b}({d}.target.value)}}),!1);",
        )
    )


def _latex(chance: random.Random) -> str:
    x, y, n = chance.choice("xtuz"), chance.choice("yvws"), chance.choice("nmkN")
    a, b = chance.sample([r"\alpha", r"\beta", r"\lambda", r"\theta", r"\sigma", r"\mu"], 2)
    return chance.choice(
        (
            rf"$$\int_{{0}}^{{\infty}} e^{{-{a} {x}^2}} \, d{x} = \frac{{1}}{{2}}"
            rf"\sqrt{{\frac{{\pi}}{{{a}}}}}$$" + "\n",
            rf"Let $f({x}) = \sum_{{{n}=1}}^{{\infty}} \frac{{{a}_{n}}}{{{n}!}} {x}^{n}$ where "
            rf"${a}_{n} \in \mathbb{{R}}$. ",
            rf"\begin{{align}} \nabla \times \mathbf{{E}} &= -\frac{{\partial \mathbf{{B}}}}"
            rf"{{\partial t}} \\ {b} &\leq \|{x} - {y}\|_2 \end{{align}}" + "\n",
            rf"\[ P({x} \mid {y}) = \frac{{P({y} \mid {x}) P({x})}}{{\int P({y} \mid {b}) \, "
            rf"d{b}}} \]" + "\n",
            rf"Then $\lim_{{{n} \to \infty}} \left( 1 + \frac{{{x}}}{{{n}}} \right)^{n} = e^{x}$ "
            rf"and $\mathcal{{O}}({n} \log {n})$ steps suffice. ",
        )
    )


def _unicode_math(chance: random.Random) -> str:
    a, b, c = chance.sample("αβγδεθλμπρστφψω", 3)
    x, y = chance.sample("xyzfghuv", 2)
    return chance.choice(
        (
            f"∀{a} ∈ ℝ ∃{x} > 0 : |{x}² − {y}²| ≤ {a}·‖{y}‖₂\n",
            f"∑ᵢ₌₁ⁿ {a}ᵢ{x}ᵢ = ∫₀^∞ {x}({b}) d{b} ≈ {chance.randint(2, 99)} × 10⁻³\n",
            f"{a} ⊂ {b} ⇔ {a} ∪ {b} = {b} ∧ {a} ∩ {b} ≠ ∅\n",
            f"∂{x}/∂{y} = lim_({a}→0) [{x}({y}+{a}) − {x}({y})]/{a}, ∇·{x} = 4π{c}\n",
            f"√({x}₁² + {x}₂²) ≥ {chance.randint(1, 9)}½ ⇒ {b} ∉ ℚ, ⟨{x}|{y}⟩ = δ_{a}{b}\n",
        )
    )


_FACES = "😀😂🥰😭🙏👍🔥✨🎉🤔😅💪🚀🌈🍜☕🐼🦊🎸📚🧠💡🔧🗺️⏰✅❌⚠️❤️"
_JOINED_ROWS = (
    "👨‍👩‍👧‍👦 👩‍💻 🧑🏽‍🚀 👩🏿‍🔬 🏳️‍🌈 👨‍🍳 🤷‍♀️ 🙋🏻‍♂️ 🧑‍🤝‍🧑 👩‍❤️‍👨",
    "🐻‍❄️ 👁️‍🗨️ 🇩🇪 🇯🇵 🇧🇷 🇨🇳 🇰🇪 👍🏾 ✊🏼 👩🏻‍🎓",
)
_JOINED = tuple(emoji for row in _JOINED_ROWS for emoji in row.split())


def _emoji(chance: random.Random) -> str:
    run = "".join(chance.choices(_FACES, k=chance.randint(1, 6)))
    return run + chance.choice(("", " ", f" {chance.choice(EN)} "))


def _joined_emoji(chance: random.Random) -> str:
    return "".join(chance.choices(_JOINED, k=chance.randint(1, 5))) + chance.choice(("", " "))


def _base64(chance: random.Random) -> str:
    text = base64.b64encode(chance.randbytes(1_200)).decode()
    return text if chance.random() < 0.5 else "\n".join(_in_lines(text, 76))


def _hex(chance: random.Random) -> str:
    text = chance.randbytes(600).hex()
    return text if chance.random() < 0.5 else "\n".join(_in_lines(text, 64))


def _in_lines(text: str, width: int) -> list[str]:
    return [text[start : start + width] for start in range(0, len(text), width)]


_TERMS = ("API", "GPU", "token", "Kubernetes", "pull request", "README.md", "v2.1", "localhost")


def _mixed(chance: random.Random) -> str:
    return chance.choice(
        (
            chance.choice(ZH),
            chance.choice(EN) + " ",
            f"{chance.choice(ZH)[:12]} {chance.choice(_TERMS)} {chance.choice(ZH)[-10:]}",
            f"请运行 `{_identifier(chance)} --{chance.choice(_LATIN_WORDS)}`，",
            f"\n- **{chance.choice(_TERMS)}**：{chance.choice(ZH)}",
        )
    )


def _spoken(language: str) -> Callable[[random.Random], str]:
    between = "" if language in {"zh", "ja"} else " "
    return lambda chance: chance.choice(_SPOKEN[language]) + chance.choice((between, "\n"))


KINDS: dict[str, Callable[[random.Random], str]] = {
    "English": _spoken("en"),
    "Chinese": _spoken("zh"),
    "Japanese": _spoken("ja"),
    "Korean": _spoken("ko"),
    "Arabic": _spoken("ar"),
    "Thai": _spoken("th"),
    "emoji": _emoji,
    "joined emoji": _joined_emoji,
    "code": _code,
    "JSON": _json,
    "base64": _base64,
    "hex": _hex,
    "minified": _minified,
    "LaTeX": _latex,
    "Unicode math": _unicode_math,
    "Chinese and English": _mixed,
}
"""Every kind, and how to make the next piece of a text of it."""


def long_text(kind: str, seed: int, tokens: int, count: Callable[[str], int]) -> str:
    """A text of at least that many tokens, as ``count`` counts them."""
    chance = random.Random(f"{kind}-{seed}")
    text = ""
    while count(text) < tokens:
        text += "".join(KINDS[kind](chance) for _ in range(3))
    return text


def short_lines(language: str) -> list[str]:
    return _SPOKEN[language]
