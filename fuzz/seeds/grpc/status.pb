


echo